"""Checks that the folders of modules have the order that ARCHITECTURE.md gives them. Called by script/layers.

    layers.py [--root DIRECTORY] [--edges]
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

from module import Edge, Module
from order import Order, orders
from tokens import Unreadable

REQUIRED = "Weir"


def main() -> int:
    arguments = parsed()
    try:
        return checked(Path(arguments.root), arguments.edges)
    except (OSError, Unreadable) as problem:
        print(f"layers: {problem}", file=sys.stderr)
        return 1


def checked(root: Path, shows_edges: bool) -> int:
    """Checks a tree, or prints its edges; returns the exit status."""
    listed = orders((root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    if REQUIRED not in listed:
        raise Unreadable(f'ARCHITECTURE.md: there is no list under a heading "Layers inside {REQUIRED}"')
    problems = 0
    for name, own in listed.items():
        module = Module(root / "Sources" / name)
        if shows_edges:
            print_edges(name, module, own, root)
        else:
            problems += print_problems(name, module, own, root)
    return 1 if problems else 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/layers", description="Checks the order of the folders of modules.")
    this_tree = Path(__file__).parents[2]
    parser.add_argument("--root", default=this_tree, metavar="DIRECTORY", help="the tree to check, in place of this one")
    parser.add_argument("--edges", action="store_true", help="print which folder uses which, and check nothing")
    return parser.parse_args()


def print_problems(name: str, module: Module, order: Order, root: Path) -> int:
    """Prints the problems of a module's folders; returns their number."""
    present = set(module.folders.values()) - {""}
    problems = [
        f"Sources/{name}/{folder}: {folder} is not in the list of ARCHITECTURE.md"
        for folder in sorted(present.difference(order.folders))
    ]
    problems += [
        f"ARCHITECTURE.md: {name} has no folder {folder} with Swift files"
        for folder in order.folders if folder not in present
    ]
    # A declaration that a file uses more than once is reported once, at its first use.
    told: dict[tuple[Path, str], Edge] = {}
    for edge in sorted(module.edges(), key=lambda edge: (edge.file, edge.line)):
        known = edge.folder in order.folders and edge.used in order.folders
        if known and not order.allows(edge.folder, edge.used):
            told.setdefault((edge.file, edge.declaration), edge)
    problems += [
        f"{place(edge, root)}: {edge.folder} uses {edge.used} ({edge.declaration}), which is above it"
        for edge in told.values()
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"layers: {name}: {len(problems)} against the order of ARCHITECTURE.md", file=sys.stderr)
    return len(problems)


def print_edges(name: str, module: Module, order: Order, root: Path) -> None:
    """Prints for each pair of folders how often the first names the second, and the first place where it does."""
    edges: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in module.edges():
        edges[edge.folder, edge.used].append(edge)
    print(f"{name}: ? is in no list, * is against the order of ARCHITECTURE.md, = within the core")
    for (folder, used), found in sorted(edges.items()):
        if folder not in order.folders or used not in order.folders:
            mark = "?"
        elif not order.allows(folder, used):
            mark = "*"
        else:
            mark = "=" if {folder, used} <= order.core else " "
        print(f"{mark} {folder + ' -> ' + used:32} {len(found):4}  {place(found[0], root)}: {found[0].declaration}")


def place(edge: Edge, root: Path) -> str:
    return f"{edge.file.relative_to(root)}:{edge.line}"


if __name__ == "__main__":
    sys.exit(main())
