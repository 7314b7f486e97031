"""Proves that a gateway gets, keeps and repairs the credentials of its calls, and shows none of them."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable

from lab import command
from lab.client import BROKEN_OFF
from lab.credentials import answers, changes, outages, renewals, search
from lab.credentials.rig import Here, TokenService
from lab.credentials.upstream import Upstream
from lab.endure.rows import Bar
from lab.processes import Failure, Place

ROWS: dict[str, tuple[str, Callable[[Here], Awaitable[list[Bar]]]]] = {
    "hostile": ("every answer of a token service has its outcome", answers.answers),
    "ages": ("tokens that end soon: 0 requests fail, one request for each token", renewals.ages),
    "revoked": ("all tokens revoked: one refresh, no client sees it", renewals.revoked),
    "refused": ("403 and 401 for ever go to the client, few refreshes", renewals.refused),
    "down": ("the service is down: few refreshes, refusals at once, good at the end of the silence", outages.down),
    "changed": ("secrets that change on disk: in force in 2 s, 0 requests fail", changes.changed),
    "crowd": ("many requests at the start: one for a token", renewals.crowd),
    "shown": ("no secret is shown anywhere", search.shown),
}


class Table:
    def __init__(self, here: Here) -> None:
        self.here = here
        self.lines = ["| row | to be | measured | |", "|---|---|---|---|"]
        self.missed: list[str] = []

    async def measure(self, name: str) -> None:
        to_be, row = ROWS[name]
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


async def run(given: argparse.Namespace, place: Place) -> list[str]:
    upstream = Upstream()
    await upstream.start()
    service = TokenService(place, upstream, *renewals.CLIENTS, *changes.CLIENTS)
    await service.start()
    table = Table(Here(place, given.short, upstream, service))
    names = [name for name in ROWS if not given.rows or name in given.rows]
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


if __name__ == "__main__":
    options = command.options("credentials", __doc__)
    options.add_argument("--short", action="store_true", help="a quarter of a minute, as a test")
    options.add_argument("--list", action="store_true", help="name the rows")
    options.add_argument("rows", nargs="*", metavar="ROW", help="only these rows")
    given = command.parsed(options)
    if given.list:
        print("\n".join(f"{name:<10}{to_be}" for name, (to_be, _) in ROWS.items()))
    elif unknown := set(given.rows) - set(ROWS):
        options.error(f"there is no row {', '.join(unknown)}; --list names them")
    else:
        command.conduct("credentials", given, lambda place: run(given, place))
