"""One run: an origin, one gateway or several before it, callers, and what their calls say."""

import asyncio
import dataclasses
import json
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lab.calls import Call
from lab.overload.gateways import Gateways
from lab.overload.measure import Figures, figures
from lab.overload.rows import Row
from lab.processes import Failure, Place, Process, free_port

START = 0.5
"""Seconds from the order to begin until the beginning."""
SPARE = 20.0
"""Seconds that a run may take longer than its callers."""
LATE = 0.02
"""Seconds of the measurement's own delay from which its figures are doubtful."""


@dataclass
class Outcome:
    row: Row
    gateway: str
    seed: int
    directory: Path
    calls: list[Call] = field(default_factory=list)
    callers_late: list[float] = field(default_factory=list)
    origin_late: list[float] = field(default_factory=list)
    attempts: int = 0
    queue: int = 0

    @cached_property
    def figures(self) -> Figures:
        return figures(self.row, self.calls, self.attempts, self.queue)

    async def listen_to_origin(self, origin: Process) -> None:
        async for facts in origin.facts():
            self.attempts += facts["attempts"]
            self.queue = max(self.queue, facts["queue"])
            self.origin_late += facts["late"]

    async def listen_to_callers(self, callers: Process) -> None:
        async for facts in callers.facts():
            self.calls += [Call(*call) for call in facts["calls"]]
            self.callers_late += facts["late"]
            if facts["finished"]:
                return
        raise Failure(f"{self.row.name}, {self.gateway}: the callers ended early: {callers.tail()}")

    @property
    def warning(self) -> str:
        """How late the measurement itself was; empty if it was not."""
        parts = []
        if max(self.callers_late, default=0) > LATE and not self.row.at_once:
            parts.append(f"calls began up to {lateness(self.callers_late, 'calls')}")
        if max(self.origin_late, default=0) > LATE:
            parts.append(f"the origin answered up to {lateness(self.origin_late, 'seconds')}")
        return f"{self.row.name}, {self.gateway}: {'; '.join(parts)}" if parts else ""

    @property
    def doubtful(self) -> bool:
        """Whether more than one of a hundred calls, or one of four of the origin's seconds, was late."""
        callers = 0 if self.row.at_once else share_late(self.callers_late)
        return callers > 0.01 or share_late(self.origin_late) > 0.25


def share_late(late: list[float]) -> float:
    return sum(one > LATE for one in late) / max(1, len(late))


def lateness(late: list[float], unit: str) -> str:
    """
    >>> lateness([0.001, 0.03, 0.002, 0.04], "calls")
    '40 ms late, in 2 of 4 calls over 20 ms'
    """
    return f"{1000 * max(late):.0f} ms late, in {sum(one > LATE for one in late)} of {len(late)} {unit} over 20 ms"


async def run(outcome: Outcome, gateways: Gateways) -> None:
    """Fills the outcome of a row, a gateway and a seed."""
    place, load = Place.empty(gateways.program, outcome.directory), outcome.row.load
    try:
        async with asyncio.timeout(load.until + load.patience + SPARE):
            await measure(outcome, gateways, place)
    except TimeoutError as error:
        raise Failure(f"{outcome.row.name}, {outcome.gateway}: the callers did not end in time") from error
    finally:
        await place.stop()


async def measure(outcome: Outcome, gateways: Gateways, place: Place) -> None:
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
    listening = asyncio.create_task(outcome.listen_to_origin(origin))
    try:
        await outcome.listen_to_callers(callers)
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
