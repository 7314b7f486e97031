"""The workloads, in the order of the table: callers, the origin's phases, and what weir has to reach."""

from dataclasses import dataclass, replace
from typing import Any

from lab.models import HANGS, PAUSES, REFUSES, Phase
from lab.overload.callers import Load

BESIDE_HAPROXY = 0.9
"""Share of haproxy's good answers that weir has to reach, except where a burst or ramp is over before callers lose."""
COUNTED_FROM = 10.0
"""Seconds after which an overload is counted: callers have to give up before weir refuses a request."""
LEAD = 5.0
"""Seconds of a run before its fault."""
PATIENT = 60.0


@dataclass(frozen=True)
class Bar:
    """Bounds a figure of weir's, by a number or by a factor of another run's figure: that of the gateway `beside` in
    the same row, or weir's own in the row `than`."""

    figure: str
    least: float | None = None
    most: float | None = None
    beside: str = ""
    than: str = ""
    less: float = 0
    """By how much a figure may fall short of the other run's, or exceed it."""

    def bound(self, other: object) -> tuple[float | None, float | None]:
        """The least and the most, given the other figure. None for both if there is no such figure.

        >>> Bar("good", least=36).bound(None), Bar("p99", most=1.1, beside="off").bound(0.5)
        ((36, None), (None, 0.55))
        >>> Bar("share", least=1, beside="off", less=0.01).bound(0.95), Bar("p99", most=1.1, beside="off").bound(None)
        ((0.94, None), (None, None))
        """
        if not (self.beside or self.than):
            return self.least, self.most
        if not isinstance(other, int | float):
            return None, None
        return (
            None if self.least is None else round(self.least * other - self.less, 6),
            None if self.most is None else round(self.most * other + self.less, 6),
        )

    def missed(self, value: float | str | None, other: object = None) -> str:
        """How the figure misses the bar; empty if it does not. A time that was not reached misses every bar.

        >>> Bar("good", least=36).missed(36.2), Bar("good", least=36).missed(1.3)
        ('', 'is 1.3, less than 36')
        >>> Bar("again", most=3).missed(None), Bar("share", least=0.9, beside="off").missed(0.8, 1)
        ('was not reached', 'is 0.8, less than 0.9')
        """
        least, most = self.bound(other)
        if least is None and most is None:
            return ""
        if not isinstance(value, int | float):
            return "was not reached"
        if least is not None and value < least:
            return f"is {value:.4g}, less than {least:.4g}"
        if most is not None and value > most:
            return f"is {value:.4g}, more than {most:.4g}"
        return ""

    def __str__(self) -> str:
        """
        >>> print(Bar("p99", most=1.1, beside="off"), Bar("good", least=0.85, than="1.5x"), sep=", ")
        p99 ≤ 1.1 × off's, good ≥ 0.85 × that of 1.5x
        """
        sign, number = ("≥", self.least) if self.least is not None else ("≤", self.most)
        other = f" × {self.beside}'s" if self.beside else f" × that of {self.than}" if self.than else ""
        less = f" {'-' if self.least is not None else '+'} {self.less:g}" if self.less else ""
        return f"{self.figure} {sign} {number:g}{other}{less}"


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    load: Load
    phases: tuple[Phase, ...]
    window: tuple[float, float]
    """The begin and end of the time in which good answers are counted."""
    shows: tuple[str, ...] = ("good",)
    bars: tuple[Bar, ...] = ()
    fault: tuple[float, float] = (0, 0)
    """When the origin's fault or the overload begins and ends, if there is one."""
    best: float | None = None
    """Good answers per second that are possible."""
    keys: tuple[str, ...] = ()
    """Further lines of weir's route."""
    fleet: int = 1
    """The number of gateways, each with its share of the callers."""
    only: tuple[str, ...] = ()
    """The gateways that the row is for; all if there are none."""
    at_once: bool = False
    """Many callers come at the same time, so that some are late by nature."""


TODAY = Bar("first", least=0.9, beside="off")
"""In the first ten seconds weir has to give what it gives without load control; a tenth is chance."""
BESIDE = Bar("good", least=BESIDE_HAPROXY, beside="haproxy")
FOUR = Phase(servers=4, service=0.1, spread="exponential")


def steady(rate: float, until: float, **more: Any) -> Load:
    return Load(rates=((0, rate),), until=until, **more)


def overload(name: str, title: str, rate: float, phase: Phase, *bars: Bar, urgencies: Any = (), **rest: Any) -> Row:
    until = COUNTED_FROM + 40
    load = steady(rate, until, urgencies=urgencies)
    window, fault = (COUNTED_FROM, until), (0, until)
    return Row(name, title, load, (phase,), window, bars=(*bars, TODAY, BESIDE), fault=fault, best=40, **rest)


def fault(name: str, title: str, rate: float, phase: Phase, lasts: float, after: float, **rest: Any) -> Row:
    """A row whose origin is well, then in another phase, and well again."""
    end = LEAD + lasts
    settings: dict[str, Any] = dict(window=(LEAD + COUNTED_FROM, end), fault=(LEAD, end)) | rest
    load = steady(rate, end + after, patience=settings.pop("patience", 2))
    return Row(name, title, load, (Phase(), phase, Phase(at=end)), **settings)


def brown_out(name: str, title: str, rate: float) -> Row:
    phase = Phase(at=LEAD, service=0.05, failing=0.5)
    return fault(name, title, rate, phase, 20, 3, best=10, bars=(Bar("good", least=9), TODAY, BESIDE))


def hang(name: str, title: str, state: str = HANGS, patience: float = 2, after: float = 15) -> Row:
    phase, window = Phase(at=LEAD, state=state), (0, LEAD + 15 + after)
    bars = (Bar("heard", most=0.1), Bar("again", most=3), BESIDE)
    shows = ("heard", "again")
    return fault(name, title, 20, phase, 15, after, patience=patience, shows=shows, window=window, bars=bars)


def refusal(name: str, title: str, after: float, again: float, **rest: Any) -> Row:
    phase, window = Phase(at=LEAD, state=REFUSES), (0, LEAD + 28 + after)
    bars = (Bar("again", most=again), BESIDE)
    return fault(name, title, 20, phase, 28, after, shows=("again",), window=window, bars=bars, **rest)


def healthy(name: str, title: str, rate: float, phase: Phase, share: float, *more: Bar, until: float = 40) -> Row:
    bars = (Bar("share", least=share), Bar("share", least=BESIDE_HAPROXY, beside="haproxy"), *more)
    return Row(name, title, steady(rate, until), (phase,), (0, until), ("share", "p99"), bars, best=rate)


def harmless(name: str, title: str, load: Load, *phases: Phase, at_once: bool = False, **rest: Any) -> Row:
    """A row in which no caller gives up, so that no request may be refused."""
    shows = rest.pop("shows", ("share", "refused"))
    bars = rest.pop("bars", (Bar("refused", most=0), Bar("share", least=1, beside="off", less=0.01)))
    return Row(name, title, load, phases, (0, load.until), shows, bars, at_once=at_once, **rest)


def patient(rate: float, until: float) -> Load:
    return steady(rate, until, patience=PATIENT)


def of_four(row: Row, title: str) -> Row:
    """The row's callers through four gateways before one origin. The four have to reach a share of what one gateway
    reaches and of what it has to reach: a share of nothing would not be a success."""
    alone = next(bar.least for bar in row.bars if bar.figure == "good" and bar.least is not None)
    bars = (Bar("good", least=round(0.85 * alone, 2)), Bar("good", least=0.85, than=row.name))
    return replace(row, name=f"four-{row.name}", title=title, bars=bars, shows=("good",), fleet=4, only=("weir",))


SLOW_STEP = Phase(at=10, servers=10, service=0.25)

HELP = (
    overload("1.5x", "1.5x: 60/s", 60, Phase(), Bar("good", least=36), Bar("p50", most=0.6)),
    overload("3x", "3x: 120/s", 120, Phase(), Bar("good", least=36)),
    overload("exponential", "1.5x, 4 servers, exponential, mean 100 ms", 60, FOUR, Bar("good", least=35)),
    overload("sharing", "1.5x, processor sharing", 60, Phase(sharing=True), Bar("good", least=35)),
    overload(
        "slowed", "1.5x, an answer takes 25 ms x (1 + queue / 40)", 60, Phase(slowed_at=40), Bar("good", least=32)
    ),
    fault(
        "half",
        "30/s, capacity 20/s for 20 s; good again after",
        30,
        Phase(at=LEAD, service=0.05),
        20,
        15,
        best=20,
        shows=("good", "again"),
        bars=(Bar("good", least=18), Bar("again", most=2), TODAY, BESIDE),
    ),
    brown_out("brown-out", "brown-out: 30/s, 20/s, half 503", 30),
    brown_out("brown-out-20", "brown-out at 20/s", 20),
    refusal("refused", "refused for 28 s, 20/s: good again after", 15, 1),
    refusal("breaker", "the same, weir with circuitBreaker", 23, 3, keys=("circuitBreaker: {}",), only=("off", "weir")),
    hang("hung", "hung for 15 s: heard (median); good again after"),
    hang("hung-12", "the same, callers give up after 12 s", patience=12, after=10),
    hang("hung-kept", "hung for 15 s, then all of it is answered", state=PAUSES),
    Row(
        "step",
        "30/s, 25 ms -> 250 ms, 10 servers, seconds 2 to 25 after; last refusal",
        steady(30, until=35),
        (Phase(), SLOW_STEP),
        window=(12, 35),
        fault=(10, 35),
        best=30,
        shows=("good", "last_refusal"),
        bars=(Bar("good", least=25), Bar("last_refusal", most=15), BESIDE),
    ),
    healthy("50%", "50 % load, 4 servers, exponential: good; p99", 20, FOUR, 0.999),
    # Longer, as queues of chance are rare.
    healthy("90%", "90 % load, the same", 36, FOUR, 0.999, Bar("p99", most=1.1, beside="off"), until=60),
    healthy("80%", "80 % load, one server", 32, Phase(), 0.995),
    Row(
        "burst",
        "burst: 20/s, 1 s of 200/s (first 5 s)",
        Load(rates=((0, 20), (10, 200), (11, 20)), until=20),
        (Phase(),),
        window=(10, 15),
        best=40,
        bars=(Bar("good", least=20), Bar("good", least=0.95, beside="off")),
    ),
    Row(
        "ramp",
        "back at 20 % of its capacity, 10 s to the full one, 30/s; in the 5 s after",
        steady(30, until=26),
        (Phase(), Phase(at=5, state=REFUSES), Phase(at=10, ramp=10)),
        window=(10, 20),
        best=24,
        shows=("good", "after"),
        bars=(Bar("good", least=13), Bar("after", least=28)),
    ),
    overload(
        "urgency",
        "1.5x, urgency 0, 1, 3, 5, 7 (10, 20, 30, 20, 20 %): good of each, %",
        60,
        Phase(),
        Bar("urgent", least=0.93),
        urgencies=((0, 0.1), (1, 0.2), (3, 0.3), (5, 0.2), (7, 0.2)),
        keys=("overload: {priority: true}",),
        shows=("urgencies",),
    ),
)

HARM = (
    harmless(
        "slow-answers", "8/s of 8 s each: 64 callers at a time", patient(8, until=25), Phase(servers=200, service=8)
    ),
    harmless(
        "batch",
        "1,000 at once to 200/s",
        Load(bursts=((1, 1000),), until=2, patience=PATIENT),
        Phase(servers=5),
        at_once=True,
    ),
    harmless(
        "polls",
        "20/s, all long polls of 5 to 15 s",
        patient(20, until=20),
        Phase(servers=10000, service=10, spread="even"),
    ),
    harmless("patient-step", "30/s, 25 ms -> 250 ms, 10 servers", patient(30, until=30), Phase(), SLOW_STEP),
    harmless("patient-90%", "90 % load, 4 servers, exponential", patient(36, until=30), FOUR),
    harmless(
        "429",
        "30/s, every answer is 429: refused by the gateway",
        steady(30, until=20),
        Phase(service=0.001, status=429),
        shows=("refused",),
        bars=(Bar("refused", most=0),),
    ),
)

FLEET = (
    of_four(HELP[0], "1.5x before four gateways"),
    of_four(HELP[1], "3x before four gateways"),
    of_four(HELP[5], "half the capacity before four gateways"),
)

SHORT = (
    # For CI: load control helps, harms nothing, and notices an upstream that hangs. They run at the same time, and their bars hold on
    # a machine three times slower.
    Row(
        "overload",
        "1.5x: 60/s",
        steady(60, until=16),
        (Phase(),),
        window=(COUNTED_FROM, 16),
        bars=(Bar("good", least=24),),
        best=40,
    ),
    harmless(
        "no-harm",
        "200 at once to 200/s, patient",
        Load(bursts=((1, 200), (6, 200)), until=8, patience=PATIENT),
        Phase(servers=5),
        at_once=True,
        bars=(Bar("refused", most=0), Bar("share", least=1)),
    ),
    Row(
        "hang",
        "hung for 9 s, callers give up after 2 s",
        steady(20, until=18),
        (Phase(), Phase(at=3, state=HANGS), Phase(at=12)),
        window=(0, 18),
        fault=(3, 12),
        shows=("heard", "again"),
        bars=(Bar("heard", most=0.5), Bar("again", most=3)),
    ),
)
