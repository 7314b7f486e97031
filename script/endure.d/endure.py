"""Runs rows, and prints what was measured beside what has to be."""

import argparse
import asyncio
import os
import shutil
import sys
import time
from pathlib import Path

from balance import DEAD_ENDPOINT, HANGING_ENDPOINT, SRV, WEIGHTS
from certificates import CERTIFICATES
from crowds import DESCRIPTORS, IDLE_CLIENTS
from discovery import FILES, NAMES
from outages import HEALTHY_ROW, OUTAGES
from processes import Failure, Processes
from reloads import RELOADS, RELOADS_UNDER_LOAD
from row import Bar, Place, Row
from slow import IDLE_PAUSE, SLOW_READERS, SLOWLORIS
from takeovers import RESTARTS, TAKEOVERS
from tunnels import TUNNELS_ROW

ROWS = (
    *(RELOADS, RELOADS_UNDER_LOAD, NAMES, FILES, DEAD_ENDPOINT, HANGING_ENDPOINT, WEIGHTS, SRV),
    *(TAKEOVERS, RESTARTS, IDLE_CLIENTS, DESCRIPTORS, CERTIFICATES, TUNNELS_ROW),
    *(SLOW_READERS, IDLE_PAUSE, SLOWLORIS),
    *(OUTAGES, HEALTHY_ROW),
)


async def measure(row: Row, program: str, directory: Path) -> list[Bar]:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    place = Place(program, directory, Processes(directory))
    try:
        bars = await row.run(place)
    except (Failure, OSError, asyncio.IncompleteReadError) as failure:
        bars = [Bar(f"failed: {failure}", False)]
    finally:
        await place.processes.stop()
    place.file("figures.txt", "\n".join([*map(str, bars), *place.notes]) + "\n")
    for note in place.notes:
        print(f"# {row.name}: {note}", flush=True)
    return bars


def line(row: Row, bars: list[Bar]) -> str:
    verdict = "ok" if all(bar.held for bar in bars) else "MISSED"
    return f"| {row.name} | {row.before} | {row.to_be} | {'; '.join(map(str, bars))} | {verdict} |"


def main() -> None:
    names = [row.name for row in ROWS]
    parser = argparse.ArgumentParser(prog="script/endure")
    parser.add_argument("--list", action="store_true", help="name the rows")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only these rows")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.list:
        return print("\n".join(names))
    if unknown := [name for name in arguments.rows if name not in names]:
        parser.error(f"there is no row {', '.join(unknown)}; --list names them")

    lines, missed = ["| row | before | to be | measured | |", "|---|---|---|---|---|"], False
    for row in ROWS:
        if arguments.rows and row.name not in arguments.rows:
            continue
        began, others = time.monotonic(), os.getloadavg()[0]
        bars = asyncio.run(measure(row, arguments.program, arguments.directory / row.name))
        missed = missed or not all(bar.held for bar in bars)
        lines.append(line(row, bars))
        print(f"# {row.name}: {time.monotonic() - began:.0f} s; the machine's load was {others:.1f} before", flush=True)
    print("\n".join(lines))
    (arguments.directory / "table.md").write_text("\n".join(lines) + "\n")
    sys.exit(1 if missed else 0)


main()
