"""Proves that traces join across gateways, and that what docs/telemetry.md says is so."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable

from lab import command
from lab.client import BROKEN_OFF, Connection
from lab.endure.rows import Bar
from lab.gateway import Gateway
from lab.processes import Failure, Place, free_address
from lab.telemetry import chain, outages, page, picture, requests, totals
from lab.telemetry.collector import Collector

ROWS: dict[str, tuple[str, Callable[[Place], Awaitable[list[Bar]]]]] = {
    "page": ("docs/telemetry.md: the commands print what it shows", page.page),
    "chain": ("weir, Envoy, weir and an origin: one root, no missing parent", chain.chain),
    "requests": ("each kind of request has the spans that docs/telemetry.md says", requests.requests),
    "totals": ("the numbers that go by OTLP are those of the page", totals.totals),
    "collectors": ("collectors in trouble: 0 requests fail, losses are counted, all is well after it", outages.collectors),
}
NAMED = {"collectors"}
"""Rows that are run only if they are named, since they take long."""


async def run(given: argparse.Namespace, place: Place) -> list[str]:
    if given.picture:
        await drawn(place)
        return []
    lines, found = ["| row | to be | measured | |", "|---|---|---|---|"], []
    for name in given.rows or [name for name in ROWS if name not in NAMED]:
        to_be, row = ROWS[name]
        here = Place.empty(place.program, place.directory / name)
        began = time.monotonic()
        try:
            bars = await row(here)
        except (Failure, *BROKEN_OFF) as failure:
            bars = [Bar(f"failed: {failure}", False)]
        finally:
            await here.stop()
        print(f"# {name}: {time.monotonic() - began:.0f} s", flush=True)
        for note in here.notes:
            print(f"# {name}: {note}")
        missed = [f"{name}: {bar.text}" for bar in bars if not bar.held]
        found += missed
        lines.append(f"| {name} | {to_be} | {'; '.join(map(str, bars))} | {'MISSED' if missed else 'ok'} |")
    print("\n".join(lines))
    return found


async def drawn(place: Place) -> None:
    """Has a gateway ask an upstream that is down, and draws what it records."""
    collector = await Collector().start()
    config = chain.weirs("shop", collector.port, free_address()).rstrip().removesuffix(" }") + ", retry: { limit: 3 } }\n"
    gateway = await Gateway.start(place, config, workers=1)
    await Connection(gateway.address).ask()
    for _ in range(100):
        if len(collector.spans) == 5:
            return picture.draw(collector.spans)
        await asyncio.sleep(0.1)
    raise Failure(f"there are {len(collector.spans)} spans")


if __name__ == "__main__":
    options = command.options("telemetry", __doc__)
    options.add_argument("--picture", action="store_true", help="draw the picture of the page, and do nothing else")
    only = f"only these rows of {', '.join(ROWS)}; without one all but {', '.join(NAMED)}"
    options.add_argument("rows", nargs="*", metavar="ROW", help=only)
    given = command.parsed(options)
    if unknown := set(given.rows) - set(ROWS):
        options.error(f"there is no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    command.conduct("telemetry", given, lambda place: run(given, place))
