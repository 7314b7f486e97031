"""How many series a fleet has. docs/scale.md shows the rows; script/scale holds the numbers against real pages."""

from dataclasses import dataclass

INSTANCES = [(1_000, 3), (60, 50), (1_000, 50), (10_000, 3), (10_000, 50), (100_000, 50), (100_000, 500)]
SCRAPE = 15
SHARE = 2_000_000
"""Kept series of one Prometheus. A group's rules run one after another; with more they may need more than 15 s."""


@dataclass(frozen=True)
class Page:
    fixed: int
    destination: int
    """With its route, its entry of upstreams and one endpoint."""

    def series(self, instances: int, destinations: int) -> int:
        """
        >>> Page(10, 2).series(3, 4)
        54
        """
        return instances * (self.fixed + self.destination * destinations)


ALL = Page(fixed=326, destination=370)
KEPT = Page(fixed=127, destination=145)
PER_SERIES = 4_800
"""Bytes of Prometheus' memory at its peak, measured."""


def short(number: float) -> str:
    """
    >>> [short(number) for number in (900, 1_440_000, 18_500_000_000)]
    ['900', '1.4 million', '18,500 million']
    """
    if number < 1_000_000:
        return f"{number:,.0f}"
    return f"{number / 1e6:,.1f} million" if number < 1e8 else f"{number / 1e6:,.0f} million"


def gigabytes(series: float) -> str:
    """
    >>> gigabytes(1_000_000)
    '4.8 GB'
    """
    memory = series * PER_SERIES / 1e9
    return f"{memory:,.1f} GB" if memory < 100 else f"{memory:,.0f} GB"


def row(instances: int, destinations: int) -> str:
    every, kept = (page.series(instances, destinations) for page in (ALL, KEPT))
    cells = [
        f"{instances:,} × {destinations}",
        short(every),
        short(every / SCRAPE),
        gigabytes(every),
        short(kept),
        gigabytes(kept),
        f"{-(-kept // SHARE):,}",
    ]
    return "| " + " | ".join(cells) + " |"
