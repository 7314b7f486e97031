"""Proves that a gateway keeps to the pace that its upstream sets."""

import argparse
import asyncio
from pathlib import Path

from lab import command
from lab.client import BROKEN_OFF
from lab.endure.rows import Bar
from lab.overload.gateways import ENVOY as PEER
from lab.overload.gateways import available
from lab.pace import asked
from lab.pace.api import FIXED
from lab.pace.limits import ENVOY, HEADING, KEYS, LONG, OBEYS, RATE, SHORT, WINDOWS, Bounds, Limited, limited
from lab.processes import Failure, Place

PICTURE = Path("docs/images/pace.png")
LATE = 0.02
"""Seconds by which requests may be late without a word."""


class Proof:
    def __init__(self, place: Place, at_once: int) -> None:
        self.place = place
        self.places = asyncio.Semaphore(at_once)
        self.runs: list[Limited] = []
        self.rows = ["| row | to be | measured | |", "|---|---|---|---|"]
        self.missed: list[str] = []

    async def limit(self, window: str, name: str, bounds: Bounds) -> None:
        async with self.places:
            run = await limited(self.place, window, name, bounds)
        self.runs.append(run)
        late = max(run.outcome.late, default=0)
        if late > LATE:
            self.place.notes.append(f"{window}, {name}: requests were sent up to {late * 1000:.0f} ms late")
        self.judge(f"{window}, {name}", "", run.bars())

    async def pause(self, name: str, short: bool) -> None:
        to_be, row = asked.ROWS[name]
        slack = asked.BUSY if short else asked.Slack()
        async with self.places:
            try:
                bars = await row(self.place, short, slack)
            except (Failure, *BROKEN_OFF) as failure:
                bars = [Bar(f"failed: {str(failure).partition(chr(10))[0]}", False)]
        self.judge(name, to_be, bars)

    def judge(self, name: str, to_be: str, bars: list[Bar]) -> None:
        missed = [f"{name}: {bar.text}" for bar in bars if not bar.held]
        self.missed += missed
        print(f"# {name}: {'MISSED' if missed else 'done'}", flush=True)
        if bars:
            measured = "; ".join(map(str, bars))
            self.rows.append(f"| {name} | {to_be} | {measured} | {'MISSED' if missed else 'ok'} |")

    def table(self) -> str:
        order = list(KEYS)
        runs = sorted(self.runs, key=lambda run: (run.window, order.index(run.name)))
        return "\n".join([HEADING, *(run.line() for run in runs), "", *self.rows])


async def run(given: argparse.Namespace, place: Place) -> list[str]:
    proof = Proof(place, 8 if given.short else given.at_once)
    async with asyncio.TaskGroup() as group:
        if given.short:
            for name in (OBEYS, RATE):
                group.create_task(proof.limit(FIXED, name, SHORT))
        else:
            names = [name for name in KEYS if name != ENVOY or available([PEER])]
            for window in WINDOWS:
                for name in names:
                    group.create_task(proof.limit(window, name, LONG))
        for name in asked.ROWS:
            group.create_task(proof.pause(name, given.short))
    for note in place.notes:
        print(f"# {note}")
    print(proof.table())
    place.file("table.md", "\n".join([proof.table(), "", *place.notes]) + "\n")
    if given.picture:
        from lab.pace import picture

        picture.draw(given.picture, proof.runs)
        print(f"drawn to {given.picture}")
    return proof.missed


def options() -> argparse.ArgumentParser:
    made = command.options("pace", __doc__)
    made.add_argument("--short", action="store_true", help="20 s, weir only, as a test")
    made.add_argument(
        "--at-once", metavar="N", type=int, default=2, help="runs at a time (2); fewer disturb each other less"
    )
    made.add_argument(
        "--picture",
        metavar="FILE",
        type=Path,
        nargs="?",
        const=PICTURE,
        help=f"draw the fixed and the sliding second into FILE ({PICTURE}); not with --short",
    )
    return made


if __name__ == "__main__":
    made = options()
    given = command.parsed(made)
    if given.short and given.picture:
        made.error("the picture needs the long form")
    command.conduct("pace", given, lambda place: run(given, place))
