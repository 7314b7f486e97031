"""Checks that the folders of modules have the order that ARCHITECTURE.md gives them, and that portable modules import nothing
that some platform lacks. Called by script/layers.

    layers.py [--root DIRECTORY] [--edges]
"""

import argparse
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

HEADING = re.compile(r"Layers inside `?(\w+)`?\n")
ROW = re.compile(r"^\| `(\w+)`( \(core\))? \| (\S.*\S) \|$")
LARGEST_CORE = 4

# Modules that compile on any platform, and what they may import: C libraries only where they are there.
PORTABLE = ("WeirHTTP", "WeirMetrics")
EVERYWHERE = {"Swift", "Synchronization"}
C_LIBRARIES = {"Glibc", "Musl", "Darwin"}

IMPORT = re.compile(r"^\s*(?:@\w+(?:\([^)]*\))? +)*(?:[a-z]+ +)?import +(?:[a-z]+ +)?([A-Za-z_]\w*)")
NOISE = re.compile(r'/\*.*?\*/|//[^\n]*|(#*)"""\n.*?"""\1|("(?:\\.|[^"\\\n])*")', re.DOTALL)
INTERPOLATION = re.compile(r"\\\(([^\n]*?)\)")
DECLARATION = re.compile(
    r"^(?P<before> *(?:(?:@\w+(?:\([^)\n]*\))?|[a-z]+)\s+)*)"
    r"(?:class|struct|enum|protocol|actor|typealias|associatedtype)\s+(?P<name>[A-Z]\w*)",
    re.MULTILINE,
)
TYPE_NAME = re.compile(r"(?<![\w.])[A-Z]\w*")
GENERIC = re.compile(r"\b(?:func \S+?|init\??|(?:struct|class|enum|actor|typealias) \w+)<([^(=]*?)>[ ({=:]")


class Unreadable(Exception):
    """A problem of a page, and its place."""


class Edge(NamedTuple):
    """A file of one folder names a type of another."""

    file: Path
    line: int
    folder: str
    used: str
    name: str


@dataclass
class Order:
    """Folders from the top to the bottom. The core's stand together and count as one layer."""

    folders: list[str]
    core: set[str]

    def allows(self, folder: str, used: str) -> bool:
        """Whether a folder may use another."""
        return {folder, used} <= self.core or self.folders.index(folder) <= self.folders.index(used)


def orders(page: str) -> dict[str, Order]:
    """The orders on a page, by module.

    >>> page = '''
    ... ### Layers inside Weir
    ... | folder | what it holds |
    ... |---|---|
    ... | `Session` (core) | sessions |
    ... | `Request` (core) | requests |
    ... | `HTTP` | methods and fields |
    ... '''
    >>> order = orders(page)["Weir"]
    >>> order.allows("Request", "Session"), order.allows("Session", "HTTP"), order.allows("HTTP", "Request")
    (True, True, False)
    >>> orders(page.replace("| `HTTP` |", "| HTTP |"))
    Traceback (most recent call last):
    layers.Unreadable: ARCHITECTURE.md: Layers inside Weir: no row of a folder: | HTTP | methods and fields |
    """
    sections = re.split(r"^#+ ", page, flags=re.MULTILINE)
    found = {heading[1]: section for section in sections if (heading := HEADING.match(section))}
    return {module: order(module, section) for module, section in found.items()}


def order(module: str, section: str) -> Order:
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    found = [ROW.match(row) for row in rows]
    folders = [row[1] for row in found if row]
    core = [row[1] for row in found if row and row[2]]
    first = folders.index(core[0]) if core else 0
    problem = None
    if None in found:
        problem = f"no row of a folder: {rows[found.index(None)]}"
    elif not folders or len(set(folders)) < len(folders):
        problem = "there is no table of folders, or a folder is listed twice"
    elif folders[first:first + len(core)] != core:
        problem = "the core's folders have to stand together"
    elif len(core) > LARGEST_CORE:
        problem = f"the core has {len(core)} folders; at most {LARGEST_CORE} may name each other"
    if problem:
        raise Unreadable(f"ARCHITECTURE.md: Layers inside {module}: {problem}")
    return Order(folders, set(core))


class Source:
    """A file's names of types: those that it declares for others, within types or not, and those that it uses and does not declare.

    >>> source = Source('''struct A: B<C> { // D
    ...   private enum E { case f(G.H) }
    ...   func i<J: K>(_ j: J) -> L { "M" }
    ... }''')
    >>> source.nested, source.declared, source.uses
    ({'E'}, {'A'}, [('B', 1), ('C', 1), ('G', 2), ('K', 3), ('L', 3)])
    """

    def __init__(self, text: str) -> None:
        text = NOISE.sub(lambda match: "\n" * match[0].count("\n") + " ".join(INTERPOLATION.findall(match[2] or "")), text)
        found = [(match["name"], match["before"]) for match in DECLARATION.finditer(text)]
        self.nested = {name for name, before in found if before.startswith(" ")}
        self.declared = {name for name, before in found if not re.match(r" |.*\b(?:file)?private ", before)}
        own = {name for name, _ in found}
        for parameters in GENERIC.findall(text):
            own.update(re.findall(r"(?:^|,)\s*(?:each )?([A-Z]\w*)", parameters))
        self.uses = [
            (match[0], text.count("\n", 0, match.start()) + 1)
            for match in TYPE_NAME.finditer(text) if match[0] not in own
        ]


def edges(module: Path) -> list[Edge]:
    """The uses in one folder of types of another. A name that a second folder has too, or that is a nested type's, tells nothing."""
    sources = {path: Source(path.read_text(encoding="utf-8")) for path in sorted(module.glob("*/**/*.swift"))}
    folder = {path: path.relative_to(module).parts[0] for path in sources}
    declaring: dict[str, set[str]] = defaultdict(set)
    for path, source in sources.items():
        for name in source.declared:
            declaring[name].add(folder[path])
    for name in set().union(*(source.nested for source in sources.values())):
        declaring.pop(name, None)
    return [
        Edge(path, line, folder[path], used, name)
        for path, source in sources.items()
        for name, line in source.uses
        for used in declaring.get(name, set()) - {folder[path]} if len(declaring[name]) == 1
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/layers", description="Checks the order of the folders of modules.")
    this_tree = Path(__file__).parents[2]
    parser.add_argument("--root", type=Path, default=this_tree, metavar="DIRECTORY", help="the tree to check, in place of this one")
    parser.add_argument("--edges", action="store_true", help="print which folder uses which, and check nothing")
    arguments = parser.parse_args()
    try:
        listed = orders((arguments.root / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    except (OSError, Unreadable) as problem:
        return print(f"layers: {problem}", file=sys.stderr) or 1
    if not listed:
        return print('layers: ARCHITECTURE.md: there is no heading "Layers inside …"', file=sys.stderr) or 1
    if arguments.edges:
        for name, own in listed.items():
            print_edges(name, own, arguments.root)
        return 0
    found = [problem for name, own in listed.items() for problem in problems(name, own, arguments.root)]
    for name in PORTABLE:
        for path in sorted((arguments.root / "Sources" / name).rglob("*.swift")):
            found += [f"{path.relative_to(arguments.root)}:{problem}" for problem in imports(path.read_text(encoding="utf-8"))]
    print("".join(f"{problem}\n" for problem in found), end="", file=sys.stderr)
    return 1 if found else 0


def problems(name: str, order: Order, root: Path) -> list[str]:
    module = root / "Sources" / name
    present = {path.relative_to(module).parts[0] for path in module.glob("*/**/*.swift")}
    found = [f"Sources/{name}/{each}: {each} is not in the list of ARCHITECTURE.md" for each in sorted(present - {*order.folders})]
    found += [f"ARCHITECTURE.md: {name} has no folder {each} with Swift files" for each in order.folders if each not in present]
    # A type that a file uses more than once is reported once, at its first use.
    told: dict[tuple[Path, str], Edge] = {}
    for edge in edges(module):
        if {edge.folder, edge.used} <= {*order.folders} and not order.allows(edge.folder, edge.used):
            told.setdefault((edge.file, edge.name), edge)
    return found + [
        f"{edge.file.relative_to(root)}:{edge.line}: {edge.folder} uses {edge.used} ({edge.name}), which is above it" for edge in told.values()
    ]


def imports(text: str) -> list[str]:
    '''The imports of a portable module's file that some platform lacks, after their lines.

    >>> imports("""import Synchronization
    ... #if canImport(Glibc)
    ...   public import Glibc
    ... #elseif canImport(Musl)
    ...   import Musl
    ... #else
    ...   import Darwin
    ... #endif""")
    []
    >>> imports("""import struct Foundation.Date
    ... @preconcurrency import Glibc
    ... #if canImport(Glibc)
    ...   import Musl
    ... #endif""")
    ['1: imports Foundation', '2: imports Glibc without a condition', '4: imports Musl without a condition']
    '''
    found: list[str] = []
    condition = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            condition = line.strip()
        elif match := IMPORT.match(line):
            name = match[1]
            # Darwin is what is left: nothing but its own module says that it is there.
            allowed = f"canImport({name})" in condition or (name == "Darwin" and condition == "#else")
            if name in C_LIBRARIES and not allowed:
                found.append(f"{number}: imports {name} without a condition")
            elif name not in C_LIBRARIES | EVERYWHERE:
                found.append(f"{number}: imports {name}")
    return found


def print_edges(name: str, order: Order, root: Path) -> None:
    found: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in edges(root / "Sources" / name):
        found[edge.folder, edge.used].append(edge)
    print(f"{name}: ? is in no list, * is against the order of ARCHITECTURE.md, = within the core")
    for pair, uses in sorted(found.items()):
        mark = "?" if not {*pair} <= {*order.folders} else "*" if not order.allows(*pair) else "=" if {*pair} <= order.core else " "
        first = uses[0]
        print(f"{mark} {' -> '.join(pair):32} {len(uses):4}  {first.file.relative_to(root)}:{first.line}: {first.name}")


if __name__ == "__main__":
    sys.exit(main())
