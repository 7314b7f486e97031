"""CHANGELOG.md's sections, and the code that their lines name."""

import re
from dataclasses import dataclass
from typing import Iterator

UNRELEASED = "Unreleased"


@dataclass(frozen=True)
class Notes:
    """The lines of a section by their headings."""

    lines: dict[str, list[str]]

    def spans(self) -> Iterator[str]:
        """Yields all code between backticks."""
        for spans in self.bullets(list(self.lines)):
            yield from spans

    def bullets(self, headings: list[str]) -> Iterator[set[str]]:
        """Yields the code of each line under some headings."""
        for heading in headings:
            for line in self.lines.get(heading, []):
                yield code(line)

    @property
    def breaks(self) -> bool:
        return bool(self.lines.get("Breaking"))


def code(line: str) -> set[str]:
    """
    >>> sorted(code("No `a: [b]`, and `c`."))
    ['a: [b]', 'c']
    """
    return set(re.findall(r"`([^`]+)`", line))


def section(text: str, title: str) -> str | None:
    """Returns the text of a section of the second level, without its title; None if there is none.

    >>> section("# C\\n\\n## Unreleased\\n\\na\\n\\n## 0.2.0 (2026-11-24)\\n\\nb\\n", "0.2.0"), section("# C\\n", "0.2.0")
    ('b', None)
    """
    found = re.search(rf"^## {re.escape(title)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else None


def notes(text: str) -> Notes:
    """Reads a section's lines, each of which may be broken into several.

    >>> notes("### Added\\n\\n- `a`, which is\\n  long\\n- b\\n\\n### Fixed\\n\\n- c").lines
    {'Added': ['`a`, which is long', 'b'], 'Fixed': ['c']}
    """
    lines: dict[str, list[str]] = {}
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        bullets = re.split(r"^- ", body, flags=re.MULTILINE)[1:]
        lines[heading.strip()] = [" ".join(bullet.split()) for bullet in bullets]
    return Notes(lines)


def released(text: str, version: str, date: str) -> str:
    """Gives the lines of Unreleased to a version, and leaves Unreleased empty.

    >>> print(released("# C\\n\\n## Unreleased\\n\\n- a\\n", "0.3.0", "2026-12-01"), end="")
    # C
    <BLANKLINE>
    ## Unreleased
    <BLANKLINE>
    ## 0.3.0 (2026-12-01)
    <BLANKLINE>
    - a
    """
    return text.replace(f"## {UNRELEASED}\n", f"## {UNRELEASED}\n\n## {version} ({date})\n", 1)
