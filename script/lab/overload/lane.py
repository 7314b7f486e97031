"""One run: an origin, one gateway or several before it, callers, and what their calls say."""

import asyncio
import dataclasses
import json
import time

from lab.calls import Call
from lab.overload import gateways
from lab.overload.figures import Outcome
from lab.processes import Failure, Place, Process, free_port

START = 0.5
"""Seconds from the order to begin until the beginning."""
SPARE = 20.0
"""Seconds that a run may take longer than its callers."""


async def run(outcome: Outcome, program: str) -> None:
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
        await gateways.start(outcome.gateway, place, number, f"127.0.0.1:{port}", row.keys)
        for number in range(row.fleet)
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
