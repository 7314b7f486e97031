"""Checks whether a version may be released, and writes it into the tree. Called by script/release, in the root of a tree.

    release.py check VERSION [REPORT]       whether it may follow the tree's version, and has lines in CHANGELOG.md; with the compiler's
                                            report of breakages, also whether the public ones are allowed
    release.py apply VERSION DATE COMMIT    sets the version, gives it the lines, and notes that the tables are those of COMMIT
"""

import re
import sys
from pathlib import Path
from typing import Callable

from changelog import UNRELEASED, notes, released, section
from interface import public_breakages
from versions import Refused, Version, check

VERSION = re.compile(r'(static let version = ")([^"]*)(")')


def main() -> int:
    try:
        match sys.argv[1:]:
            case ["check", version]:
                check_tree(Version.parsed(version), breaks=False)
            case ["check", version, report]:
                check_tree(Version.parsed(version), breaks=bool(printed_breakages(Path(report))))
            case ["apply", version, date, commit]:
                apply(Version.parsed(version), date, commit)
            case _:
                raise Refused("usage: release.py check VERSION [REPORT] | apply VERSION DATE COMMIT")
    except (OSError, Refused) as problem:
        print(f"release: {problem}", file=sys.stderr)
        return 1
    return 0


def check_tree(wanted: Version, breaks: bool) -> None:
    lines = section(Path("CHANGELOG.md").read_text(encoding="utf-8"), UNRELEASED)
    if lines is None or not any(notes(lines).lines.values()):
        raise Refused(f"CHANGELOG.md: {UNRELEASED} has no lines; there is nothing to release")
    written = VERSION.search(Path("Sources/Weir/Weir.swift").read_text(encoding="utf-8"))
    if written is None:
        raise Refused("Sources/Weir/Weir.swift: no version was found")
    check(Version.parsed(written[2]), wanted, breaks or notes(lines).breaks)


def printed_breakages(report: Path) -> list[str]:
    table = Path(".ci/surface/symbols").read_text(encoding="utf-8")
    found = public_breakages(report.read_text(encoding="utf-8"), table)
    print("\n".join([f"{len(found)} breakages are public:", *found]))
    return found


def apply(version: Version, date: str, commit: str) -> None:
    rewrite(Path("Sources/Weir/Weir.swift"), lambda text: VERSION.sub(rf"\g<1>{version}\g<3>", text))
    rewrite(Path("CHANGELOG.md"), lambda text: released(text, str(version), date))
    Path(".ci/surface/base").write_text(f"{version} {commit}\n", encoding="utf-8")


def rewrite(file: Path, change: Callable[[str], str]) -> None:
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
