"""Proves that any program may have a gateway as its proxy, and that no target leads where nobody should get."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable

from lab import command
from lab.client import BROKEN_OFF
from lab.egress import hostile, network, page, same
from lab.egress.rig import Here
from lab.endure.rows import Bar
from lab.processes import Failure, Place

ROWS: dict[str, tuple[str, Callable[[Here], Awaitable[list[Bar]]]]] = {
    "programs": (
        "by http, by tunnels and by `scheme: https`, with a password and without: answers as direct",
        same.same,
    ),
    "hostile": ("every target has its answer; 0 connections to addresses that are denied", hostile.hostile),
    "page": ("docs/egress.md: the commands print what it shows", page.page),
}


async def run(given: argparse.Namespace, place: Place) -> list[str]:
    lines, found = ["| row | to be | measured | |", "|---|---|---|---|"], []
    net = network.Network(place)
    await net.set_up()
    # One after another, as they listen at the same ports.
    for name, (to_be, row) in ROWS.items():
        if given.rows and name not in given.rows:
            continue
        here = Here(Place.empty(place.program, place.directory / name), net, given.short)
        began = time.monotonic()
        try:
            bars = await row(here)
        except (Failure, *BROKEN_OFF) as failure:
            bars = [Bar(f"failed: {failure}", False)]
        finally:
            await here.place.stop()
        print(f"# {name}: {time.monotonic() - began:.0f} s", flush=True)
        for note in here.place.notes:
            print(f"# {name}: {note}")
        missed = [f"{name}: {bar.text}" for bar in bars if not bar.held]
        found += missed
        measured = "; ".join(str(bar).partition("\n")[0] for bar in bars)
        lines.append(f"| {name} | {to_be} | {measured} | {'MISSED' if missed else 'ok'} |")
    print("\n".join(lines))
    place.file("table.md", "\n".join(lines) + "\n")
    return found


def known(name: str) -> str:
    if name not in ROWS:
        raise argparse.ArgumentTypeError(f"there is no row {name}; --list names them")
    return name


if __name__ == "__main__":
    options = command.options("egress", __doc__)
    options.add_argument("--short", action="store_true", help="20 s, as a test")
    options.add_argument("--list", action="store_true", help="name the rows")
    options.add_argument("rows", nargs="*", metavar="ROW", type=known, help="only these rows")
    given = command.parsed(options)
    if given.list:
        print("\n".join(f"{name:<10}{to_be}" for name, (to_be, _) in ROWS.items()))
    else:
        network.enter()
        command.conduct("egress", given, lambda place: run(given, place))
