"""The numbers of series that docs/scale.md gives, which script/scale holds against real pages; and whether the page agrees
with the rules, the formula and promtool."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.prometheus import RULES
from lab.scale.expressions import keeping, shipped, written
from lab.scale.watched import SCRAPE

INSTANCES = [(1_000, 3), (60, 50), (1_000, 50), (10_000, 3), (10_000, 50), (100_000, 50), (100_000, 500)]
DOCUMENT = Path("docs/scale.md")
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


def snippets(text: str) -> list[str]:
    """
    >>> snippets('a\\n```yaml\\nb: c\\n```\\n```sh\\nd\\n```\\n')
    ['b: c\\n']
    """
    return re.findall(r"(?ms)^```yaml\n(.*?)^```$", text)


def problems(text: str) -> Iterator[str]:
    for instances, destinations in INSTANCES:
        if (line := row(instances, destinations)) not in text:
            yield f"a computed row is missing or differs; it has to be\n{line}"
    if (keep := written(keeping(shipped()))) not in text:
        yield f"the list of series that the rules read has to be\n{keep}"
    found = snippets(text)
    if not found:
        yield "it has no snippets"
    for number, snippet in enumerate(found, 1):
        if refused := refusal(snippet):
            yield f"promtool refuses snippet {number}:\n{refused}\n{snippet}"


def refusal(snippet: str) -> str:
    """The objections of promtool; empty if it takes it. A snippet is a whole file: of rules, or a configuration."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "snippet.yml")
        file.write_text(snippet)
        # Where a configuration names the shipped rules.
        Path(directory, "rules").symlink_to(RULES.absolute())
        kind = "rules" if re.search(r"(?m)^groups:", snippet) else "config"
        done = subprocess.run(["promtool", "check", kind, file], capture_output=True, text=True, check=False)
    return done.stderr + done.stdout if done.returncode else ""


def main() -> int:
    found = list(problems(DOCUMENT.read_text()))
    for problem in found:
        print(f"{DOCUMENT}: {problem}", file=sys.stderr)
    return 1 if found else 0
