"""The common part of commands whose rows stand in one table and share their surroundings."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeVar

from lab import command
from lab.client import BROKEN_OFF
from lab.endure.rows import Bar
from lab.processes import Failure, Place

Here = TypeVar("Here")
"""The surroundings."""
Rows = Mapping[str, tuple[str, Callable[[Here], Awaitable[list[Bar]]]]]
"""By name: what has to be, and what measures it."""


class Table(Generic[Here]):
    def __init__(self, rows: Rows[Here], here: Here) -> None:
        self.rows, self.here = rows, here
        self.lines = ["| row | to be | measured | |", "|---|---|---|---|"]
        self.missed: list[str] = []

    async def measure(self, name: str) -> None:
        to_be, row = self.rows[name]
        began = time.monotonic()
        try:
            bars = await row(self.here)
        except (Failure, *BROKEN_OFF) as failure:
            print(f"# {name}: {failure}", flush=True)
            bars = [Bar(f"failed: {str(failure).partition(chr(10))[0]}", False)]
        print(f"# {name}: {time.monotonic() - began:.0f} s", flush=True)
        missed = [f"{name}: {bar.text}" for bar in bars if not bar.held]
        self.missed += missed
        self.lines.append(f"| {name} | {to_be} | {'; '.join(map(str, bars))} | {'MISSED' if missed else 'ok'} |")


async def measure(
    rows: Rows[Here], surround: Callable[[Place, bool], Awaitable[Here]], given: argparse.Namespace, place: Place
) -> list[str]:
    table = Table(rows, await surround(place, given.short))
    names = [name for name in rows if not given.rows or name in given.rows]
    # Most of the time all rows wait.
    if given.short:
        await asyncio.gather(*map(table.measure, names))
    else:
        for name in names:
            await table.measure(name)
    for note in place.notes:
        print(f"# {note}")
    print("\n".join(table.lines))
    place.file("table.md", "\n".join([*table.lines, "", *place.notes]) + "\n")
    return table.missed


def conduct(
    name: str, description: str, short: str, rows: Rows[Here], surround: Callable[[Place, bool], Awaitable[Here]]
) -> None:
    """Becomes script/NAME. `short` says what its short form is; `surround` makes the surroundings, of which that is a part."""
    options = command.options(name, description)
    options.add_argument("--short", action="store_true", help=short)
    options.add_argument("--list", action="store_true", help="name the rows")
    options.add_argument("rows", nargs="*", metavar="ROW", help="only these rows")
    given = command.parsed(options)
    if given.list:
        width = max(map(len, rows)) + 2
        print("\n".join(f"{row:<{width}}{to_be}" for row, (to_be, _) in rows.items()))
    elif unknown := set(given.rows) - set(rows):
        options.error(f"there is no row {', '.join(unknown)}; --list names them")
    else:
        command.conduct(name, given, lambda place: measure(rows, surround, given, place))
