"""Runs rows, and prints what was measured beside what has to be."""

import argparse
import asyncio
import importlib
import os
import sys
import time

from lab import command
from lab.client import BROKEN_OFF
from lab.endure.rows import ROWS, Bar, Row
from lab.processes import Failure, Place

# They have the rows, which are run in this order.
for module in "reloads discovery balance takeovers crowds certificates tunnels egress slow outages proxies".split():
    importlib.import_module(f"lab.endure.{module}")


async def measure(row: Row, place: Place) -> list[Bar]:
    try:
        bars = await row.run(place)
    except (Failure, *BROKEN_OFF) as failure:
        bars = [Bar(f"failed: {failure}", False)]
    finally:
        await place.stop()
    place.file("figures.txt", "\n".join([*map(str, bars), *place.notes]) + "\n")
    for note in place.notes:
        print(f"# {row.name}: {note}", flush=True)
    return bars


def run(given: argparse.Namespace) -> int:
    lines, missed = ["| row | before | to be | measured | |", "|---|---|---|---|---|"], False
    for row in ROWS:
        if given.rows and row.name not in given.rows:
            continue
        began, others = time.monotonic(), os.getloadavg()[0]
        bars = asyncio.run(measure(row, Place.empty(given.program, given.directory / row.name)))
        verdict = "ok" if all(bar.held for bar in bars) else "MISSED"
        missed = missed or verdict == "MISSED"
        lines.append(f"| {row.name} | {row.before} | {row.to_be} | {'; '.join(map(str, bars))} | {verdict} |")
        print(f"# {row.name}: {time.monotonic() - began:.0f} s; the machine's load was {others:.1f} before", flush=True)
    print("\n".join(lines))
    (given.directory / "table.md").write_text("\n".join(lines) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    options = command.options("endure", __doc__)
    options.add_argument("--list", action="store_true", help="name the rows")
    options.add_argument("rows", nargs="*", metavar="ROW", help="only these rows")
    given = command.parsed(options)
    names = [row.name for row in ROWS]
    if given.list:
        print("\n".join(names))
    elif unknown := set(given.rows) - set(names):
        options.error(f"there is no row {', '.join(unknown)}; --list names them")
    else:
        sys.exit(run(given))
