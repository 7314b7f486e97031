"""Reads the metrics page."""

import re
import urllib.request
from collections.abc import Iterator

LABEL = re.compile(r'(\w+)="([^"]*)"')
Sample = tuple[dict[str, str], float]


class Page:
    def __init__(self, text: str) -> None:
        self.text = text

    @staticmethod
    def at(url: str) -> "Page":
        return Page(urllib.request.urlopen(url, timeout=10).read().decode())

    def samples(self, name: str, **labels: str) -> Iterator[Sample]:
        """The samples of exactly this name that have these labels.

        >>> list(Page('a{b="c"} 2\\na_sum 3\\n').samples("a", b="c"))
        [({'b': 'c'}, 2.0)]
        """
        for line in re.findall(rf"^{name}(?:{{.*}})? .*$", self.text, re.MULTILINE):
            found = dict(LABEL.findall(line))
            if labels.items() <= found.items():
                yield found, float(line.rsplit(" ", 1)[1])

    def sum(self, name: str, **labels: str) -> float:
        return sum(value for _, value in self.samples(name, **labels))

    def by(self, label: str, name: str, **labels: str) -> dict[str, float]:
        """The sums for each value of a label."""
        sums: dict[str, float] = {}
        for found, value in self.samples(name, **labels):
            sums[found[label]] = sums.get(found[label], 0) + value
        return sums
