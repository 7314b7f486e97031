"""Reads a page of metrics."""

import re
from collections.abc import Iterator

from lab.processes import Failure

LABEL = re.compile(r'(\w+)="([^"]*)"')
Sample = tuple[dict[str, str], float]


class Page:
    def __init__(self, text: str) -> None:
        self.text = text

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

    def value(self, name: str) -> float:
        """The sum of samples of which there has to be one.

        >>> Page('a 1\\nab{c="d"} 2e3\\nab{c="e"} 1\\n').value("ab")
        2001.0
        """
        if not any(self.samples(name)):
            raise Failure(f"the page has no {name}")
        return self.sum(name)

    def by(self, label: str, name: str, **labels: str) -> dict[str, float]:
        """The sums for each value of a label."""
        sums: dict[str, float] = {}
        for found, value in self.samples(name, **labels):
            sums[found[label]] = sums.get(found[label], 0) + value
        return sums

    def identities(self) -> set[str]:
        """The names and labels of all series."""
        return {line.rpartition(" ")[0] for line in self.text.splitlines() if not line.startswith("#")}
