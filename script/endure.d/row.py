"""A row: what is measured, and what it has to be."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from processes import Processes


@dataclass
class Bar:
    """One figure of a row."""

    text: str
    """The figure with its name and unit."""
    held: bool

    def __str__(self) -> str:
        return self.text if self.held else f"{self.text} (!)"


@dataclass
class Place:
    """The program that is measured, and where a row leaves its files."""

    program: str
    directory: Path
    processes: Processes
    notes: list[str] = field(default_factory=list)
    """Further figures, which have nothing to reach."""

    def file(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        return path


@dataclass
class Row:
    name: str
    before: str
    """The figure of the version before `upstreams`, or what is known of it."""
    to_be: str
    run: Callable[[Place], Awaitable[list[Bar]]]
