"""The versions that may follow a version."""

import re
from dataclasses import dataclass


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
        versions.Refused: 0.03.0 is no version; write three numbers, such as 0.3.0
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


def check(last: Version, wanted: Version, breaks: bool) -> None:
    """Refuses a version that can't follow the last one, or that may not break while something does.

    >>> check(Version(0, 2, 0), Version(0, 3, 0), breaks=True)
    >>> check(Version(0, 2, 0), Version(0, 2, 0), breaks=False)
    Traceback (most recent call last):
    versions.Refused: 0.2.0 can't follow 0.2.0; the next is 0.2.1, 0.3.0 or 1.0.0
    >>> check(Version(0, 2, 0), Version(0, 2, 1), breaks=True)
    Traceback (most recent call last):
    versions.Refused: something breaks, which 0.2.1 may not; release 0.3.0
    """
    *others, longest = (str(version) for version in last.followers())
    if wanted not in last.followers():
        raise Refused(f"{wanted} can't follow {last}; the next is {', '.join(others)} or {longest}")
    if breaks and not wanted.may_break(last):
        enough = next(version for version in last.followers() if version.may_break(last))
        raise Refused(f"something breaks, which {wanted} may not; release {enough}")
