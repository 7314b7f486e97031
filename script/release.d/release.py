"""Checks whether a version may be released, and writes it into the tree. Called by script/release, in the root of a tree.

    release.py check VERSION [REPORT]       whether it may follow the tree's version, and has lines in CHANGELOG.md; with the compiler's
                                            report of breakages, also whether the public ones are allowed
    release.py apply VERSION DATE COMMIT    sets the version, gives it the lines, and notes that the tables are those of COMMIT
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from changelog import UNRELEASED, components, notes, released, section

VERSION = re.compile(r'(static let version = ")([^"]*)(")')


class Refused(Exception):
    """A release that can't be made. The text says what to change."""


@dataclass(frozen=True, order=True)
class Version:
    major: int
    minor: int
    patch: int

    @staticmethod
    def parsed(text: str) -> "Version":
        """
        >>> Version.parsed("0.3.0")
        Version(major=0, minor=3, patch=0)
        >>> Version.parsed("0.03.0")
        Traceback (most recent call last):
        release.Refused: 0.03.0 is no version; write three numbers, such as 0.3.0
        """
        number = r"(0|[1-9][0-9]{0,5})"
        found = re.fullmatch(rf"{number}\.{number}\.{number}", text)
        if not found:
            raise Refused(f"{text} is no version; write three numbers, such as 0.3.0")
        return Version(*map(int, found.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    def followers(self) -> list["Version"]:
        """
        >>> [str(version) for version in Version(0, 2, 1).followers()]
        ['0.2.2', '0.3.0', '1.0.0']
        """
        return [
            Version(self.major, self.minor, self.patch + 1), Version(self.major, self.minor + 1, 0), Version(self.major + 1, 0, 0),
        ]

    def may_break(self, last: "Version") -> bool:
        """Whether what worked with the last version may fail: in a new minor version below 1.0, and in a new major one.

        >>> Version(0, 3, 0).may_break(Version(0, 2, 9)), Version(0, 2, 1).may_break(Version(0, 2, 0))
        (True, False)
        >>> Version(1, 1, 0).may_break(Version(1, 0, 0)), Version(1, 0, 0).may_break(Version(0, 3, 0))
        (False, True)
        """
        return self.major > last.major or (self.major == 0 and self.minor > last.minor)


def main() -> int:
    try:
        match sys.argv[1:]:
            case ["check", version]:
                check_tree(Version.parsed(version), breaks=False)
            case ["check", version, report]:
                table = Path(".ci/surface/symbols").read_text(encoding="utf-8")
                found = public_breakages(Path(report).read_text(encoding="utf-8"), table)
                print("\n".join([f"{len(found)} breakages are public:", *found]))
                check_tree(Version.parsed(version), breaks=bool(found))
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
    if lines is None or not any(notes(lines).values()):
        raise Refused(f"CHANGELOG.md: {UNRELEASED} has no lines; there is nothing to release")
    written = VERSION.search(Path("Sources/Weir/Weir.swift").read_text(encoding="utf-8"))
    if written is None:
        raise Refused("Sources/Weir/Weir.swift: no version was found")
    check(Version.parsed(written[2]), wanted, breaks or bool(notes(lines).get("Breaking")))


def apply(version: Version, date: str, commit: str) -> None:
    rewrite(Path("Sources/Weir/Weir.swift"), lambda text: VERSION.sub(rf"\g<1>{version}\g<3>", text))
    rewrite(Path("CHANGELOG.md"), lambda text: released(text, str(version), date))
    Path(".ci/surface/base").write_text(f"{version} {commit}\n", encoding="utf-8")


def rewrite(file: Path, change: Callable[[str], str]) -> None:
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")


def check(last: Version, wanted: Version, breaks: bool) -> None:
    """Refuses a version that can't follow the last one, or that may not break while something does.

    >>> check(Version(0, 2, 0), Version(0, 3, 0), breaks=True)
    >>> check(Version(0, 2, 0), Version(0, 2, 0), breaks=False)
    Traceback (most recent call last):
    release.Refused: 0.2.0 can't follow 0.2.0; the next is 0.2.1, 0.3.0 or 1.0.0
    >>> check(Version(0, 2, 0), Version(0, 2, 1), breaks=True)
    Traceback (most recent call last):
    release.Refused: something breaks, which 0.2.1 may not; release 0.3.0
    """
    *others, longest = (str(version) for version in last.followers())
    if wanted not in last.followers():
        raise Refused(f"{wanted} can't follow {last}; the next is {', '.join(others)} or {longest}")
    if breaks and not wanted.may_break(last):
        enough = next(version for version in last.followers() if version.may_break(last))
        raise Refused(f"something breaks, which {wanted} may not; release {enough}")


def public_breakages(report: str, table: str) -> list[str]:
    """Those of the breakages that the compiler reports that concern the public interface: of symbols that the last release's table
    has, or of their new cases and requirements. The compiler compares what this package's modules share, too.

    >>> table = "Session\\tWeir: class\\nSession.Reason\\tWeir: enum\\nSession.cancel(_:)\\tWeir: func\\n"
    >>> report = '''
    ...   💔 API breakage: func Session.cancel(_:) has been removed
    ...   💔 API breakage: func Session.inner(_:) has been removed
    ...   💔 API breakage: func Part.cancel(_:) has been removed
    ...   💔 API breakage: enumelement Session.Reason.late has been added as a new enum case
    ...   💔 API breakage: enumelement Inner.late has been added as a new enum case
    ... '''
    >>> [line.split()[1] for line in public_breakages(report, table)]
    ['Session.cancel(_:)', 'Part.cancel(_:)', 'Session.Reason.late']

    A function counts in every type, since the table has one that a protocol asks for in the protocol only. A sentence of
    another form counts.

    >>> public_breakages("API breakage: something else", table)
    ['something else']
    """
    names = {line.split("\t")[0] for line in table.splitlines()}
    functions = {components(name)[-1] for name in names if "(" in name}
    found = []
    for breakage in re.findall(r"API breakage: (.*)", report):
        sentence = re.match(r"\w+ (\S+) has (been added)?", breakage)
        *outer, last = components(sentence[1]) if sentence else [""]
        adds = bool(sentence) and bool(sentence[2]) and ".".join(outer) in names
        if not sentence or sentence[1] in names or last in functions or adds:
            found.append(breakage)
    return found


if __name__ == "__main__":
    sys.exit(main())
