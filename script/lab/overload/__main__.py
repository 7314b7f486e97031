"""Measures overloads of an origin behind weir and other gateways, with real processes on the loopback."""

import argparse
import asyncio
import dataclasses
import json
import time
from collections.abc import Iterable
from pathlib import Path

from lab import command
from lab.load import Call
from lab.overload.figures import FIGURES, Outcome, Outcomes, failures, heading, line, print_table
from lab.overload.gateways import NAMES, WEIR, available, start
from lab.overload.rows import FLEET, HARM, HELP, SHORT, Row
from lab.processes import Failure, Place, Process, free_port

FIRST_SEED = 7
ALL = HELP + HARM + FLEET
PICTURE = Path("docs/images/overload.png")
START = 0.5
"""Seconds from the order to begin until the beginning."""
SPARE = 20.0
"""Seconds that a run may take longer than its callers."""


class Measurement:
    def __init__(self, place: Place, at_once: int) -> None:
        self.place = place
        self.places = asyncio.Semaphore(at_once)
        self.outcomes: Outcomes = {}
        print(heading())

    async def measure(self, row: Row, names: Iterable[str], seed: int) -> None:
        """The gateways side by side: none of them keeps a core busy."""
        async with asyncio.TaskGroup() as group:
            for name in names:
                if not row.only or name in row.only:
                    group.create_task(self.run(row, name, seed))

    async def run(self, row: Row, name: str, seed: int) -> None:
        directory = self.place.directory / f"{row.name.replace('%', '')}-{name}-{seed}"
        outcome = Outcome(row, name, seed, directory)
        async with self.places:
            await fill(outcome, self.place.program)
        self.outcomes.setdefault((row.name, name), []).append(outcome)
        print(line(outcome), flush=True)
        if outcome.warning:
            print(f"  warning: {outcome.warning}", flush=True)

    def warn(self) -> None:
        """The measurement itself needs little of the machine, but it needs it in time."""
        runs = [outcome for runs in self.outcomes.values() for outcome in runs]
        late = [one for one in runs if one.warning]
        if late:
            print(f"\nWARNING: the measurement was late by more than 20 ms in {len(late)} of {len(runs)} runs.")
        for one in late:
            if one.doubtful:
                print(f"  doubtful: {one.warning}")

    def keep_numbers(self) -> None:
        outcomes = [outcome for runs in self.outcomes.values() for outcome in runs]
        rows = ([one.row.name, one.gateway, one.seed, *one.figures.values()] for one in outcomes)
        command.keep(self.place.directory / "figures.csv", ["row", "gateway", "seed", *FIGURES], rows)
        for one in outcomes:
            command.keep(one.directory / "calls.csv", Call._fields, one.calls)

    def failures(self, rows: Iterable[Row]) -> list[str]:
        return [failure for row in rows for failure in failures(row, self.outcomes)]


async def fill(outcome: Outcome, program: str) -> None:
    """Fills the outcome of a row, a gateway and a seed."""
    place, load = Place.empty(program, outcome.directory), outcome.row.load
    try:
        async with asyncio.timeout(load.until + load.patience + SPARE):
            await measure(outcome, place)
    except TimeoutError as error:
        raise Failure(f"{outcome.row.name}, {outcome.gateway}: the callers did not end in time") from error
    finally:
        await place.stop()


async def measure(outcome: Outcome, place: Place) -> None:
    row, port = outcome.row, free_port()
    phases = json.dumps([dataclasses.asdict(phase) for phase in row.phases])
    origin = await start_child(place, "origin", "origin", port, outcome.seed, phases)
    addresses = [
        await start(outcome.gateway, place, number, f"127.0.0.1:{port}", row.keys) for number in range(row.fleet)
    ]
    load = json.dumps(dataclasses.asdict(row.load))
    callers = await start_child(place, "callers", "overload.callers", load, outcome.seed, *addresses)
    begin = time.monotonic() + START
    for child in (origin, callers):
        child.order(f"begin {begin}")
    listening = asyncio.create_task(listen_to_origin(outcome, origin))
    try:
        await listen_to_callers(outcome, callers)
        await asyncio.sleep(1)  # for the origin's last second
    finally:
        listening.cancel()
    place.check()


async def start_child(place: Place, name: str, module: str, *arguments: object) -> Process:
    """Starts a child, and returns once the child has told that it is there."""
    child = await place.child(name, module, *arguments)
    async for _ in child.facts():
        return child
    raise Failure(f"{name} did not start: {child.tail()}")


async def listen_to_origin(outcome: Outcome, origin: Process) -> None:
    async for facts in origin.facts():
        outcome.attempts += facts["attempts"]
        outcome.queue = max(outcome.queue, facts["queue"])
        outcome.origin_late += facts["late"]


async def listen_to_callers(outcome: Outcome, callers: Process) -> None:
    async for facts in callers.facts():
        outcome.calls += [Call(*call) for call in facts["calls"]]
        outcome.callers_late += facts["late"]
        if facts["finished"]:
            return
    raise Failure(f"{outcome.row.name}, {outcome.gateway}: the callers ended early: {callers.tail()}")


def chosen(names: str | None) -> list[Row]:
    """The rows of these names, with the rows that they are compared with, in the order of the table."""
    if names is None:
        return list(ALL)
    wanted = set(names.split(","))
    unknown = wanted - {row.name for row in ALL}
    if unknown:
        raise Failure(f"there is no row {', '.join(sorted(unknown))}; --list names them")
    for row in ALL:
        if row.name in wanted:
            wanted |= {bar.than for bar in row.bars if bar.than}
    return [row for row in ALL if row.name in wanted]


def chosen_gateways(names: str | None) -> list[str]:
    wanted = list(NAMES) if names is None else names.split(",")
    unknown = set(wanted) - set(NAMES)
    if unknown:
        raise Failure(f"there is no gateway {', '.join(sorted(unknown))}; they are {', '.join(NAMES)}")
    return wanted


async def all_rows(given: argparse.Namespace, place: Place) -> list[str]:
    names, rows = available(chosen_gateways(given.gateways)), chosen(given.rows)
    measurement = Measurement(place, given.at_once)
    try:
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds):
            for row in rows:
                await measurement.measure(row, names, seed)
    finally:
        measurement.keep_numbers()
    print_table(rows, measurement.outcomes)
    measurement.warn()
    return measurement.failures(rows)


async def in_short(_: argparse.Namespace, place: Place) -> list[str]:
    measurement = Measurement(place, len(SHORT))
    async with asyncio.TaskGroup() as group:
        for row in SHORT:
            group.create_task(measurement.measure(row, [WEIR], FIRST_SEED))
    measurement.keep_numbers()
    return measurement.failures(SHORT)


async def drawn(given: argparse.Namespace, place: Place) -> list[str]:
    from lab.overload import picture

    measurement = Measurement(place, given.at_once)
    await measurement.measure(picture.ROW, picture.GATEWAYS, FIRST_SEED)
    measurement.keep_numbers()
    picture.draw(given.picture, {name: measurement.outcomes[picture.ROW.name, name][0] for name in picture.GATEWAYS})
    print(f"drawn to {given.picture}")
    return []


def options() -> argparse.ArgumentParser:
    made = command.options("overload", __doc__)
    made.add_argument("--rows", metavar="NAMES", help="only these rows, with commas between them")
    made.add_argument("--gateways", metavar="NAMES", help=f"only these of {','.join(NAMES)}")
    made.add_argument("--seeds", metavar="N", type=int, default=1, help="repeat every row with N seeds (1)")
    made.add_argument(
        "--at-once",
        metavar="N",
        type=int,
        default=len(NAMES),
        help="gateways at a time (all); fewer disturb each other less",
    )
    made.add_argument("--list", action="store_true", help="name rows, bars and gateways, and measure nothing")
    made.add_argument("--short", action="store_true", help="three rows in half a minute, weir only, as a test")
    made.add_argument(
        "--picture",
        metavar="FILE",
        type=Path,
        nargs="?",
        const=PICTURE,
        help=f"one overload over time, drawn into FILE ({PICTURE})",
    )
    return made


if __name__ == "__main__":
    given = command.parsed(options())
    if given.list:
        for row in ALL:
            print(f"{row.name:<14}{row.title}\n{'':<14}to reach: {'; '.join(map(str, row.bars))}")
        print(f"\ngateways: {', '.join(NAMES)}")
    else:
        run = in_short if given.short else drawn if given.picture else all_rows
        command.conduct("overload", given, lambda place: run(given, place))
