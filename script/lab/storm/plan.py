"""The runs, and their durations."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Setup:
    """A run: a number of gateways in a row, with the default bounds on retries or none."""

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
    """From the origin's recovery until callers whose storm goes on are taken off, as somebody on call would do."""
    relief: float
    """How long they are taken off: longer than the gateways' timeout, after which nothing is left of that."""
    resolve_within: float
    """From the origin's recovery until WeirRetryStorm is resolved in all runs."""
    afterwards: float
    """What is looked at after that."""
    rules_divisor: int
    """What the durations in the shipped rules are divided by; their logic stays."""
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
