"""One run: an origin, one gateway or several before it, callers, and what their calls say."""

import asyncio
import dataclasses
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from calls import Call
from gateways import Gateways
from measure import Figures, figures
from processes import Failure, Process, Processes, free_port
from rows import Row

HERE = Path(__file__).parent
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
    figures: Figures
    calls: list[Call]
    callers_late: list[float]
    origin_late: list[float]

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


@dataclass
class Lane:
    row: Row
    gateway: str
    seed: int
    gateways: Gateways
    directory: Path
    calls: list[Call] = field(default_factory=list)
    callers_late: list[float] = field(default_factory=list)
    origin_late: list[float] = field(default_factory=list)
    attempts: int = 0
    queue: int = 0

    async def run(self) -> Outcome:
        self.directory.mkdir(parents=True, exist_ok=True)
        processes = Processes(self.directory)
        load = self.row.load
        try:
            async with asyncio.timeout(load.until + load.patience + SPARE):
                await self.measure(processes)
        except TimeoutError as error:
            raise Failure(f"{self.row.name}, {self.gateway}: the callers did not end in time") from error
        finally:
            await processes.stop()
        return self.outcome()

    async def measure(self, processes: Processes) -> None:
        port = free_port()
        phases = json.dumps([dataclasses.asdict(phase) for phase in self.row.phases])
        origin = await start_child(processes, "origin", port, self.seed, phases)
        addresses = [
            await self.gateways.start(
                self.gateway, processes, self.directory, number, f"127.0.0.1:{port}", self.row.keys
            )
            for number in range(self.row.fleet)
        ]
        load = json.dumps(dataclasses.asdict(self.row.load))
        callers = await start_child(processes, "callers", load, self.seed, *addresses)
        begin = time.monotonic() + START
        for child in (origin, callers):
            child.order(f"begin {begin}")
        listening = asyncio.create_task(self.listen_to_origin(origin))
        try:
            await self.listen_to_callers(callers)
            await asyncio.sleep(1)  # for the origin's last second
        finally:
            listening.cancel()
        processes.check()

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

    def outcome(self) -> Outcome:
        found = figures(self.row, self.calls, self.attempts, self.queue)
        return Outcome(self.row, self.gateway, self.seed, found, self.calls, self.callers_late, self.origin_late)


async def start_child(processes: Processes, kind: str, *arguments: object) -> Process:
    """Starts a child, and returns once the child has reported that it is there."""
    child = await processes.start(kind, sys.executable, HERE / f"{kind}.py", *arguments)
    async for _ in child.facts():
        return child
    raise Failure(f"{kind} did not start: {child.tail()}")
