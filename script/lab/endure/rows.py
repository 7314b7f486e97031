"""A row: what is measured, and what it has to be."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from lab.processes import Place


@dataclass
class Bar:
    """One figure of a row."""

    text: str
    """The figure with its name and unit."""
    held: bool

    def __str__(self) -> str:
        return self.text if self.held else f"{self.text} (!)"


Measure = Callable[[Place], Awaitable[list[Bar]]]


@dataclass
class Row:
    name: str
    before: str
    """The figure of the version before `upstreams`, or what is known of it."""
    to_be: str
    run: Measure


ROWS: list[Row] = []


def row(name: str, to_be: str, before: str = "-") -> Callable[[Measure], Measure]:
    """Makes a function a row. What it returns is printed beside `to_be`."""

    def add(run: Measure) -> Measure:
        ROWS.append(Row(name, before, to_be, run))
        return run

    return add
