"""Measures overloads of an origin behind weir and other gateways, with real processes on the loopback."""

import argparse
import asyncio
import csv
import sys
from collections.abc import Iterable
from pathlib import Path

from gateways import NAMES, OFF, WEIR, Gateways
from lane import Lane, Outcome
from measure import Figures
from processes import Failure, judge
from rows import FLEET, HARM, HELP, Row
from short import SHORT
from table import heading, line, print_table
from verdict import Outcomes, failures

FIRST_SEED = 7
ALL = HELP + HARM + FLEET


class Measurement:
    def __init__(self, gateways: Gateways, directory: Path, at_once: int) -> None:
        self.gateways = gateways
        self.directory = directory
        self.places = asyncio.Semaphore(at_once)
        self.outcomes: Outcomes = {}

    async def measure(self, row: Row, names: Iterable[str], seed: int) -> None:
        """The gateways side by side: none of them keeps a core busy."""
        async with asyncio.TaskGroup() as group:
            for name in names:
                if not row.only or name in row.only:
                    group.create_task(self.run(row, name, seed))

    async def run(self, row: Row, name: str, seed: int) -> None:
        async with self.places:
            directory = self.directory / f"{row.name.replace('%', '')}-{name}-{seed}"
            outcome = await Lane(row, name, seed, self.gateways, directory).run()
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
        with (self.directory / "figures.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["row", "gateway", "seed", *Figures.__dataclass_fields__])
            table.writerows([one.row.name, one.gateway, one.seed, *vars(one.figures).values()] for one in outcomes)
        for one in outcomes:
            keep_calls(self.directory / f"{one.row.name.replace('%', '')}-{one.gateway}-{one.seed}" / "calls.csv", one)

    def failures(self, rows: Iterable[Row]) -> list[str]:
        return [failure for row in rows for failure in failures(row, self.outcomes)]


def keep_calls(path: Path, outcome: Outcome) -> None:
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["due", "ended", "status", "origins", "reason", "fields", "urgency"])
        table.writerows(outcome.calls)


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
            wanted = wanted | row.needs
    return [row for row in ALL if row.name in wanted]


def chosen_gateways(names: str | None) -> list[str]:
    wanted = list(NAMES) if names is None else names.split(",")
    unknown = set(wanted) - set(NAMES)
    if unknown:
        raise Failure(f"there is no gateway {', '.join(sorted(unknown))}; they are {', '.join(NAMES)}")
    return wanted


async def all_rows(given: argparse.Namespace) -> list[str]:
    gateways = Gateways(given.program, given.directory)
    wanted, rows = chosen_gateways(given.gateways), chosen(given.rows)
    for sentence in gateways.missing(wanted):
        print(f"note: {sentence}")
    measurement = Measurement(gateways, given.directory, given.at_once)
    print(heading())
    try:
        for seed in range(FIRST_SEED, FIRST_SEED + given.seeds):
            for row in rows:
                await measurement.measure(row, gateways.available(wanted), seed)
    finally:
        measurement.keep_numbers()
    print_table(rows, measurement.outcomes)
    measurement.warn()
    return measurement.failures(rows)


async def in_short(given: argparse.Namespace) -> list[str]:
    measurement = Measurement(Gateways(given.program, given.directory), given.directory, len(SHORT))
    print(heading())
    async with asyncio.TaskGroup() as group:
        for row in SHORT:
            group.create_task(measurement.measure(row, [WEIR], FIRST_SEED))
    measurement.keep_numbers()
    return measurement.failures(SHORT)


async def drawn(given: argparse.Namespace) -> list[str]:
    import picture

    gateways = Gateways(given.program, given.directory)
    for sentence in gateways.missing([OFF, WEIR]):
        print(f"note: {sentence}")
    measurement = Measurement(gateways, given.directory, given.at_once)
    print(heading())
    await measurement.measure(picture.ROW, picture.GATEWAYS, FIRST_SEED)
    measurement.keep_numbers()
    picture.draw(given.picture, {name: measurement.outcomes[picture.ROW.name, name][0] for name in picture.GATEWAYS})
    print(f"drawn to {given.picture}")
    return []


def list_all() -> None:
    for row in ALL:
        print(f"{row.name:<14}{row.title}\n{'':<14}to reach: {'; '.join(map(str, row.bars))}")
    print(f"\ngateways: {', '.join(NAMES)}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="script/overload", description=__doc__)
    parser.add_argument("--rows", metavar="NAMES", help="only these rows, with commas between them")
    parser.add_argument("--gateways", metavar="NAMES", help=f"only these of {','.join(NAMES)}")
    parser.add_argument("--seeds", metavar="N", type=int, default=1, help="repeat every row with N seeds (1)")
    parser.add_argument(
        "--at-once", metavar="N", type=int, default=len(NAMES), help="gateways measured at a time (all)"
    )
    parser.add_argument("--list", action="store_true", help="name rows, bars and gateways, and measure nothing")
    parser.add_argument("--short", action="store_true", help="three rows in half a minute, weir only")
    parser.add_argument("--picture", metavar="FILE", type=Path, help="one overload over time, drawn into the file")
    parser.add_argument("program", nargs="?")
    parser.add_argument("directory", nargs="?", type=Path)
    return parser.parse_args()


async def main(given: argparse.Namespace) -> int:
    run = in_short(given) if given.short else drawn(given) if given.picture else all_rows(given)
    return await judge("overload", run)


if __name__ == "__main__":
    options = arguments()
    if options.list:
        list_all()
    else:
        sys.exit(asyncio.run(main(options)))
