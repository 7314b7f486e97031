"""The runs and their durations; and a run: an origin, gateways in a row before it, callers, and their results in each second."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lab.gateway import Gateway
from lab.load import quantile, steady
from lab.models import Phase
from lab.origin import Origin
from lab.processes import Place, each_second


@dataclass(frozen=True)
class Setup:
    """A run: a number of gateways in a row, with the default bounds on retries or none."""

    name: str
    layers: int
    bounded: bool


SETUPS = (
    Setup("one-layer", 1, bounded=False),
    Setup("one-layer-budget", 1, bounded=True),
    Setup("three-layers", 3, bounded=False),
    Setup("three-layers-budget", 3, bounded=True),
)

RATE = 20.0
"""Requests per second that the callers of each run make, however long the answers take."""


@dataclass(frozen=True)
class Plan:
    """Durations in seconds, by the wall clock."""

    healthy: float
    brown_out: float
    page_within: float
    """From the brown-out's begin until WeirRetryStorm is at the webhook."""
    patience: float
    """From the origin's recovery until callers whose storm goes on are taken off, as somebody on call would do."""
    relief: float
    """How long they are taken off: longer than the gateways' timeout, after which nothing is left of that."""
    resolve_within: float
    """From the origin's recovery until WeirRetryStorm is resolved in all runs."""
    afterwards: float
    """The time that is looked at after that."""
    rules_divisor: int
    """The durations in the shipped rules are divided by it; their logic stays."""
    scrape: float
    evaluation: float
    line: int
    """Seconds that a line of the timeline sums up."""
    point: int
    """Seconds that a point of the picture sums up."""


# The rules as they are shipped. A page waits for a scrape, then for the recording rules, then for the
# alert's. Rules are evaluated more often than scrapes come, which keeps this wait short.
FULL = Plan(
    healthy=90,
    brown_out=300,
    page_within=180,
    patience=90,
    relief=20,
    resolve_within=900,
    afterwards=30,
    rules_divisor=1,
    scrape=15,
    evaluation=5,
    line=15,
    point=10,
)

# Ten times as fast. A slow machine is late by seconds and not by tenths of them, so the page has ten seconds more.
SHORT = Plan(
    healthy=8,
    brown_out=22,
    page_within=28,
    patience=6,
    relief=12,
    resolve_within=100,
    afterwards=3,
    rules_divisor=10,
    scrape=1,
    evaluation=1,
    line=5,
    point=1,
)

WELL = Phase(service=0.04, longest_wait=0.2)
BROWNED_OUT = Phase(service=0.08, longest_wait=0.2, failing=0.5)


@dataclass
class Sample:
    """The counts of one second or several."""

    seconds: int = 0
    requests: int = 0
    good: int = 0
    attempts: int = 0
    latencies: list[float] = field(default_factory=list)
    budget: float | None = None
    """The retries that the emptiest of the run's budgets would grant."""

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
        return quantile(self.latencies, 0.99) or 0


class Run:
    def __init__(self, setup: Setup, place: Place) -> None:
        self.setup = setup
        self.place = place
        self.seconds: dict[int, Sample] = {}
        self.metrics: list[str] = []
        """Where the gateways show their metrics."""

    async def start(self) -> None:
        self.origin = await Origin(WELL).start()
        entrance = self.origin.address
        # Without bounds a gateway also retries the retries of the one before it.
        bounds = "" if self.setup.bounded else ", budget: off, unlessRetried: false"
        for layer in range(self.setup.layers, 0, -1):
            config = f"""routes:
  - name: storm
    upstream: http://{entrance}
    timeout: 10s
    retry: {{ limit: 3, statusCodes: [503]{bounds} }}
"""
            name = f"{self.setup.name}-{layer}"
            gateway = await Gateway.start(self.place, config, "--gateway.drain-timeout=1s", name=name, workers=1)
            self.metrics.insert(0, gateway.metrics.split("/")[2])
            entrance = gateway.address
        self.callers = steady(entrance, RATE, patience=30)

    async def listen(self) -> None:
        """Begins the calls, and notes the results of each second."""
        self.callers.begin()
        await each_second(self.take)

    def take(self, second: int) -> None:
        """Requests when sent, answers and latencies when they end."""
        sample, calls = self.second(second), self.callers.calls
        sample.requests, sample.attempts = self.callers.sent, self.origin.attempts
        sample.good = sum(call.good for call in calls)
        sample.latencies = [call.took for call in calls]
        self.callers.sent = self.origin.attempts = 0
        self.callers.calls = []

    def second(self, second: int) -> Sample:
        return self.seconds.setdefault(second, Sample())

    def between(self, begin: int, end: int) -> Sample:
        """All seconds from the first until before the second."""
        return Sample.sum(self.seconds.get(second, Sample()) for second in range(begin, end))
