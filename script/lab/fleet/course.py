"""The durations of a run."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Course:
    divisor: int
    """All durations of the shipped rules, routes and scrapes are divided by it; their logic stays."""
    rate: float
    """Requests per second."""
    settle: float
    """Seconds before the first figures are taken."""
    told_within: float
    """Seconds from an instance's loss until its alert is at the webhook, and from its return until that is resolved."""
    everything: bool
    """Whether an instance is also lost for one Prometheus alone, and then all of them for both."""

    @property
    def scrape(self) -> float:
        return 15 / self.divisor

    @property
    def window(self) -> float:
        """That of the recording rule which is held against the instances' own pages."""
        return 120 / self.divisor


# Prometheus and Alertmanager as they are shipped.
FULL = Course(divisor=1, rate=60, settle=45, told_within=360, everything=True)

SHORT = Course(divisor=10, rate=90, settle=8, told_within=45, everything=False)
