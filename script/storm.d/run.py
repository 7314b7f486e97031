"""A run: an origin, gateways in a row before it, callers, and their results in each second."""

import asyncio
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from plan import RATE, Setup
from processes import Process, Processes

HERE = Path(__file__).parent


@dataclass
class Sample:
    """The counts of one second or several."""

    seconds: int = 0
    requests: int = 0
    good: int = 0
    attempts: int = 0
    latencies: list[float] = field(default_factory=list)
    budget: float | None = None
    """What the emptiest of the run's retry budgets would grant."""

    @staticmethod
    def sum(samples: Iterable["Sample"]) -> "Sample":
        total = Sample()
        for sample in samples:
            total.seconds += 1
            total.requests += sample.requests
            total.good += sample.good
            total.attempts += sample.attempts
            total.latencies += sample.latencies
            total.budget = sample.budget if sample.budget is not None else total.budget
        return total

    @property
    def amplification(self) -> float:
        """Attempts at the origin per request. 0 while the callers are off and only earlier requests are retried."""
        return self.attempts / self.requests if self.requests > self.seconds * RATE / 2 else 0

    @property
    def goodput(self) -> float:
        """Good answers per request."""
        return self.good / self.requests if self.requests else 0

    @property
    def p99(self) -> float:
        """Seconds within which 99 % of the finished calls had ended, whatever the answer; 0 if none ended."""
        ordered = sorted(self.latencies)
        return ordered[int(0.99 * (len(ordered) - 1) + 0.5)] if ordered else 0


class Run:
    def __init__(self, setup: Setup, processes: Processes, directory: Path, program: str) -> None:
        self.setup = setup
        self.processes = processes
        self.directory = directory
        self.program = program
        self.seconds: dict[int, Sample] = {}
        self.metrics: list[str] = []
        """Where the gateways show their metrics."""

    async def start_origin_and_gateways(self) -> None:
        self.origin = await self.start_child("origin")
        upstream = f"127.0.0.1:{(await anext(self.origin.facts()))['port']}"
        for layer in range(self.setup.layers, 0, -1):
            upstream = await self.start_gateway(layer, upstream)
        self.entrance = upstream

    async def start_callers(self) -> None:
        self.callers = await self.start_child("callers", self.entrance, RATE)

    async def start_child(self, kind: str, *arguments: object) -> Process:
        return await self.processes.start(f"{self.setup.name}-{kind}", sys.executable, HERE / f"{kind}.py", *arguments)

    async def start_gateway(self, layer: int, upstream: str) -> str:
        configuration = self.directory / f"{self.setup.name}-{layer}.yml"
        # Without bounds a gateway also retries the retries of the one before it.
        bounds = "" if self.setup.bounded else ", budget: off, unlessRetried: false"
        configuration.write_text(
            "routes:\n"
            "  - name: storm\n"
            f"    upstream: http://{upstream}\n"
            "    timeout: 10s\n"
            f"    retry: {{ limit: 3, statusCodes: [503]{bounds} }}\n"
        )
        gateway = await self.processes.start(
            f"{self.setup.name}-gateway-{layer}",
            self.program,
            "serve",
            f"--config.file={configuration}",
            "--gateway.workers=1",
            "--gateway.listen-address=127.0.0.1:0",
            "--web.listen-address=127.0.0.1:0",
            "--gateway.drain-timeout=1s",
        )
        self.metrics.insert(0, (await gateway.logged('msg="serving metrics" url=http://')).split("/")[0])
        return (await gateway.logged("msg=forwarding url=http://")).rstrip("/")

    async def listen(self) -> None:
        await asyncio.gather(self.listen_to(self.origin), self.listen_to(self.callers))

    async def listen_to(self, child: Process) -> None:
        async for facts in child.facts():
            sample = self.second(facts.pop("second"))
            for name, value in facts.items():
                setattr(sample, name, value)

    def second(self, second: int) -> Sample:
        return self.seconds.setdefault(second, Sample())

    def between(self, begin: int, end: int) -> Sample:
        """All seconds from the first until before the second."""
        return Sample.sum(self.seconds.get(second, Sample()) for second in range(begin, end))
