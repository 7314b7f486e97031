"""The API of 50 requests per second, asked for 80: without `pace`, with it, with its rate, and behind Envoy."""

from collections import Counter
from dataclasses import dataclass

from lab.endure.rows import Bar
from lab.load import Call, count, good_per_second, quantile
from lab.overload.callers import Load
from lab.pace.api import FIXED, LIMIT, SLIDING, Hit, Plan
from lab.pace.figures import pauses
from lab.pace.run import Config, Outcome, asked, run
from lab.processes import Place

ASKED = 80
"""Requests per second."""
PATIENCE = 10
WITHOUT, OBEYS, RATE, ENVOY = "without", "pace: {}", "rate: 50/s", "Envoy"
KEYS: dict[str, Config | None] = {WITHOUT: {}, OBEYS: {"pace": {}}, RATE: {"pace": {"rate": "50/s"}}, ENVOY: None}
WINDOWS = (FIXED, SLIDING)


@dataclass(frozen=True)
class Bounds:
    seconds: float
    good: float
    """The least share of the limit that is answered well, with the rate."""
    limited: float
    """The largest share of attempts that are answered 429, with the rate."""
    reaction: float
    """Seconds after which every attempt at the API was sent by a gateway that knew of the pause."""


LONG = Bounds(seconds=60, good=0.97, limited=0.005, reaction=0.05)
SHORT = Bounds(seconds=12, good=0.5, limited=0.02, reaction=0.75)
"""Has to hold on a busy machine, where an attempt that comes late may cost a pause of a second, and the API may
read one late that was sent before its answer. How soon a gateway knows of a pause, only the long form bounds."""


@dataclass
class Limited:
    window: str
    name: str
    bounds: Bounds
    outcome: Outcome

    def __post_init__(self) -> None:
        self.pauses = pauses(self.outcome.hits, self.bounds.reaction)
        page = self.outcome.page
        self.counted = round(page.sum("weir_upstream_pauses_total")) if page else 0

    @property
    def hits(self) -> list[Hit]:
        return self.outcome.hits

    @property
    def calls(self) -> list[Call]:
        return self.outcome.calls

    @property
    def good(self) -> float:
        """Good answers per second."""
        return good_per_second(self.calls, 0, self.bounds.seconds)

    @property
    def limited(self) -> int:
        """Answers of 429 by the API."""
        return sum(not hit.good for hit in self.hits)

    @property
    def under_way(self) -> int:
        """The attempts under way at the beginnings of all pauses."""
        return sum(pause.under_way for pause in self.pauses)

    def line(self) -> str:
        took = [call.took for call in self.calls if call.good]
        half, most = (quantile(took, share) or float("nan") for share in (0.5, 0.99))
        clients = count(self.calls, lambda call: call.status == 429 and call.origins)
        refused = [call for call in self.calls if call.refused]
        reasons = Counter(call.reason or str(call.status) for call in refused)
        after = Counter(f"{call.retry_after} s" for call in refused if call.retry_after)
        is_weir, obeys = self.name != ENVOY, "pace" in (KEYS[self.name] or {})
        cells = (
            self.window,
            self.name,
            f"{len(asked(self.outcome)) / self.bounds.seconds:.0f}/s",
            f"{self.good:.1f}/s",
            f"{self.good / LIMIT:.1%}",
            str(self.limited),
            f"{self.limited / max(1, len(self.hits)):.1%}",
            str(clients),
            words(reasons),
            str(self.counted) if is_weir else "-",
            str(self.under_way) if obeys else "-",
            f"{half:.2f} s",
            f"{most:.2f} s",
            words(after),
        )
        return f"| {' | '.join(cells)} |"

    def bars(self) -> list[Bar]:
        if self.name not in (OBEYS, RATE):
            return []
        early = sum(pause.early for pause in self.pauses)
        whole = [pause for pause in self.pauses if pause.first]
        alone = sum(pause.alone for pause in whole)
        bars = [
            Bar(f"{early} attempts in pauses", not early),
            Bar(f"{alone} of {len(whole)} pauses ended with one attempt alone", alone == len(whole)),
        ]
        if self.name == OBEYS:
            allowed = self.counted + self.under_way
            text = f"{self.limited} × 429 with {self.counted} pauses and {self.under_way} attempts under way"
            return [Bar(text, 0 < self.counted <= len(self.pauses) and self.limited <= allowed), *bars]
        share = self.limited / max(1, len(self.hits))
        return [
            Bar(f"{self.good / LIMIT:.1%} of {LIMIT}/s good", self.good >= self.bounds.good * LIMIT),
            Bar(f"{share:.2%} of attempts 429", share <= self.bounds.limited),
            *bars,
        ]


def words(counts: Counter[str]) -> str:
    """
    >>> words(Counter(["pace", "pace", "paused"])), words(Counter())
    ('2 pace, 1 paused', '0')
    """
    return ", ".join(f"{number} {word}" for word, number in counts.most_common()) or "0"


HEADING = """| second | gateway | asked | good | of 50/s | 429 at the API | of attempts | 429 to clients | refused | pauses | under way \
| p50 | p99 | Retry-After |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


async def limited(place: Place, window: str, name: str, bounds: Bounds) -> Limited:
    load = Load(rates=((0, ASKED),), until=bounds.seconds, patience=PATIENCE)
    directory = f"{window}-{list(KEYS).index(name)}"
    return Limited(window, name, bounds, await run(place, directory, Plan(window), load, KEYS[name]))
