"""What is tried, and for how long."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Setup:
    """A run: so many gateways in a row, with retries bounded as they are by default or not at all."""

    name: str
    layers: int
    bounded: bool

    @property
    def title(self) -> str:
        return f"{self.layers} layer{'s' if self.layers > 1 else ''}, {'with' if self.bounded else 'no'} budget"


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
    """From the origin's recovery until the callers of a run whose storm goes on are taken off, as somebody on call would."""
    relief: float
    """How long they are taken off: longer than the gateways' timeout, after which nothing of what they asked is left."""
    resolve_within: float
    """From the origin's recovery until WeirRetryStorm is resolved in all runs."""
    afterwards: float
    """What is looked at after that."""
    rules_divisor: int
    """What the durations in the shipped rules are divided by; their logic stays."""
    interval: float
    """Of scrapes and of the rules' evaluation."""
    line: int
    """Seconds that a line of the timeline sums up."""
    point: int
    """Seconds that a point of the picture sums up."""


# Intervals as in deploy/prometheus/prometheus.yml, and the rules as they are shipped.
FULL = Plan(
    healthy=90, brown_out=300, page_within=180, patience=90, relief=20, resolve_within=600, afterwards=30,
    rules_divisor=1, interval=15, line=15, point=5,
)

# Ten times as fast. A slow machine is late by seconds and not by tenths of them, so the page has till the brown-out's end.
SHORT = Plan(
    healthy=10, brown_out=28, page_within=28, patience=8, relief=12, resolve_within=60, afterwards=5,
    rules_divisor=10, interval=1, line=5, point=1,
)
