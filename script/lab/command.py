"""The common part of the commands: options, a place for files and processes, and the exit status."""

import argparse
import asyncio
import csv
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import NoReturn

from lab.processes import Failure, Place


def options(name: str, description: str) -> argparse.ArgumentParser:
    """The options of script/NAME. script/common gives the hidden ones."""
    epilog = "The environment's WEIR_PROGRAM may name a program that was built before."
    made = argparse.ArgumentParser(f"script/{name}", description=description, epilog=epilog)
    made.add_argument("--program", help=argparse.SUPPRESS)
    made.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    return made


def parsed(options: argparse.ArgumentParser) -> argparse.Namespace:
    """Without a program, that was all: script/common has the options looked at before it builds one."""
    given = options.parse_args()
    if not given.program and not getattr(given, "list", False):
        sys.exit()
    return given


def conduct(name: str, given: argparse.Namespace, run: Callable[[Place], Awaitable[list[str]]]) -> NoReturn:
    """Runs it, ends its processes and exits: with 1 if it finds something wrong, which is printed."""

    async def whole() -> list[str]:
        place = Place.empty(given.program, given.directory)
        try:
            return await run(place)
        finally:
            await place.stop()

    sys.exit(asyncio.run(judge(name, whole())))


async def judge(name: str, run: Awaitable[list[str]]) -> int:
    """The exit status of a run, whose result is what it has found wrong. Prints that; a signal ends the run."""
    this = asyncio.current_task()
    assert this
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, this.cancel)
    try:
        found = await run
    except asyncio.CancelledError:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130
    except (Failure, OSError) as failure:
        found = [str(failure)]
    except ExceptionGroup as group:
        expected, others = group.split((Failure, OSError))
        if others or not expected:
            raise
        found = [str(failure) for failure in leaves(expected)]
    for one in found:
        print(f"{name}: {one}", file=sys.stderr)
    return 1 if found else 0


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions in nested groups."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in error.exceptions for leaf in leaves(one)]


def keep(path: Path, heading: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Leaves a table in the form of CSV."""
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([heading, *rows])
