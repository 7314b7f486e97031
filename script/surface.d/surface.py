"""Writes the tables of what users rely on, or compares them with those of the last release. Called by script/surface.

    surface.py (--write | --check) GRAPHS PROGRAM MODULE…
"""

import subprocess
import sys
from pathlib import Path

import tables
from changelog import UNRELEASED, notes, section, unnamed

ROOT = Path(__file__).parents[2]
RELEASED = ROOT / ".ci/surface"


def main() -> int:
    action, graphs, program, *modules = sys.argv[1:]
    try:
        present = {
            "metrics": tables.metrics(ROOT),
            "keys": tables.keys(ROOT),
            "flags": tables.flags(lambda command: help_of(program, command)),
            "rules": tables.rules(ROOT),
            "status": tables.status(ROOT),
            "symbols": tables.symbols(Path(graphs), modules),
        }
        for name, table in present.items():
            if not table:
                raise tables.Unreadable(f"{name}: nothing was found")
        return write(present) if action == "--write" else check(present)
    except (OSError, subprocess.SubprocessError, tables.Unreadable) as problem:
        print(f"surface: {problem}", file=sys.stderr)
        return 1


def help_of(program: str, command: str) -> str:
    return subprocess.run([program, command, "--help"], check=True, capture_output=True, text=True, timeout=20).stdout


def write(present: dict[str, tables.Table]) -> int:
    for name, table in present.items():
        (RELEASED / name).write_text("".join(f"{line}\n" for line in sorted(table)), encoding="utf-8")
    print(", ".join(f"{len(table)} {name}" for name, table in present.items()))
    return 0


def check(present: dict[str, tables.Table]) -> int:
    """Prints each change since the last release that no line of CHANGELOG.md names; returns the exit status."""
    own = notes(section((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), UNRELEASED) or "")
    problems = []
    for name, table in present.items():
        last = set((RELEASED / name).read_text(encoding="utf-8").splitlines())
        problems += [f"{name}: {problem}" for problem in unnamed(last, table, own)]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"surface: {len(problems)} changes since the last release have no line in CHANGELOG.md", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
