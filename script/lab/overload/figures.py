"""The outcome of a run, and its figures: each in words, as it follows from the calls, and as it is written. A line for each run, and at
the end a table; the figures of all seeds are held against the bars."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from lab import load as of
from lab.load import Call
from lab.overload.gateways import HAPROXY, NAMES, WEIR
from lab.overload.rows import Row

LATE = 0.02
"""Seconds of the measurement's own delay from which its figures are doubtful."""
Value = float | str | None
"""None is a time that was not reached, or a figure that the row does not ask for."""
Figures = dict[str, Any]
"""The values by the figures' names."""


@dataclass
class Outcome:
    row: Row
    gateway: str
    seed: int
    directory: Path
    calls: list[Call] = field(default_factory=list)
    callers_late: list[float] = field(default_factory=list)
    origin_late: list[float] = field(default_factory=list)
    attempts: int = 0
    queue: int = 0

    @cached_property
    def figures(self) -> Figures:
        return {name: figure.find(self) for name, figure in FIGURES.items()}

    def good_per_second(self, begin: float, end: float) -> float:
        return of.good_per_second(self.calls, begin, end)

    def urgencies(self) -> dict[int, float]:
        return of.by_urgency(self.calls, *self.row.window)

    def good_took(self, share: float) -> float | None:
        return of.quantile((call.took for call in of.due_within(self.calls, *self.row.window) if call.good), share)

    def refused(self) -> list[Call]:
        return [call for call in self.calls if call.refused]

    @property
    def warning(self) -> str:
        """How late the measurement itself was; empty if it was not."""
        parts = []
        if max(self.callers_late, default=0) > LATE and not self.row.at_once:
            parts.append(f"calls began up to {lateness(self.callers_late, 'calls')}")
        if max(self.origin_late, default=0) > LATE:
            parts.append(f"the origin answered up to {lateness(self.origin_late, 'seconds')}")
        return f"{self.row.name}, {self.gateway}: {'; '.join(parts)}" if parts else ""

    @property
    def doubtful(self) -> bool:
        """Whether more than one of a hundred calls, or one of four of the origin's seconds, was late."""
        callers = 0 if self.row.at_once else share_late(self.callers_late)
        return callers > 0.01 or share_late(self.origin_late) > 0.25


def share_late(late: list[float]) -> float:
    return sum(one > LATE for one in late) / max(1, len(late))


def lateness(late: list[float], unit: str) -> str:
    """
    >>> lateness([0.001, 0.03, 0.002, 0.04], "calls")
    '40 ms late, in 2 of 4 calls over 20 ms'
    """
    return f"{1000 * max(late):.0f} ms late, in {sum(one > LATE for one in late)} of {len(late)} {unit} over 20 ms"


WHOLE, RATE = "{:.0f}".format, "{:.1f}".format


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 0.1 else f"{value:.2f} s"


@dataclass(frozen=True)
class Figure:
    find: Callable[[Outcome], Value]
    words: str = ""
    """Where there are bars for it."""
    written: Callable[[float], str] = WHOLE


FIGURES = {
    "good": Figure(lambda run: run.good_per_second(*run.row.window), "the number of good answers per second", RATE),
    "first": Figure(
        lambda run: run.good_per_second(run.row.fault[0], run.row.fault[0] + 10),
        "the number of good answers per second in the first 10 s",
        RATE,
    ),
    "share": Figure(lambda run: of.good_share(run.calls, *run.row.window), "the share of good answers", percent),
    "urgent": Figure(
        lambda run: min((share for urgency, share in run.urgencies().items() if urgency <= 1), default=None),
        "the share of good answers to urgent requests",
        percent,
    ),
    "urgencies": Figure(lambda run: " ".join(f"{100 * share:.0f}" for share in run.urgencies().values())),
    "p50": Figure(lambda run: run.good_took(0.5), "the median time in seconds of good answers", seconds),
    "p99": Figure(lambda run: run.good_took(0.99), "the 99th percentile in seconds of good answers", seconds),
    "again": Figure(
        lambda run: of.good_again(run.calls, run.row.fault[1], run.row.load.until) if any(run.row.fault) else None,
        "the time in seconds until answers were good again",
        "{:.2f} s".format,
    ),
    "heard": Figure(
        lambda run: of.median_took(of.due_within(run.calls, *run.row.fault)),
        "the time in seconds until a caller heard anything (median)",
        seconds,
    ),
    "refused": Figure(lambda run: len(run.refused()), "the number of refused requests"),
    "told": Figure(lambda run: of.median_took(run.refused())),
    "gave_up": Figure(lambda run: of.count(run.calls, lambda call: call.status == of.GAVE_UP)),
    "broken": Figure(lambda run: of.count(run.calls, lambda call: call.status == of.BROKEN)),
    "last_refusal": Figure(
        lambda run: of.last_refusal(run.calls, run.row.fault[0]), "the time in seconds until the last refusal", seconds
    ),
    # Refusals of weir's load control without `Retry-After` or `X-No-Retry`.
    "bare": Figure(lambda run: of.count(run.calls, lambda call: call.reason != "" and not call.fields)),
    "after": Figure(
        lambda run: run.good_per_second(run.row.window[1], run.row.window[1] + 5),
        "the number of good answers per second afterwards",
        RATE,
    ),
    # At the origin, per request.
    "attempts": Figure(lambda run: run.attempts / max(1, len(run.calls))),
    "queue": Figure(lambda run: run.queue),
}


def mean(runs: list[Outcome]) -> Figures:
    """The means of the runs of several seeds. A time that one of them did not reach has no mean."""
    return {name: mean_of([one.figures[name] for one in runs]) for name in FIGURES}


def mean_of(values: list[Value]) -> Value:
    numbers = [value for value in values if isinstance(value, int | float)]
    return fmean(numbers) if len(numbers) == len(values) else values[0] if isinstance(values[0], str) else None


def cell(row: Row, figures: Figures) -> str:
    return "; ".join(written(row, name, figures[name]) for name in row.shows)


def written(row: Row, name: str, value: Value) -> str:
    if value is None:
        return f"over {row.load.until - row.fault[1] - 3:.0f} s" if name == "again" and any(row.fault) else "-"
    return value if isinstance(value, str) else FIGURES[name].written(value)


Outcomes = dict[tuple[str, str], list[Outcome]]
"""The outcomes by row and gateway, one for each seed."""

LEGEND = """
good, first, after: good answers per second in the row's window, in the first 10 s of the overload, and in the 5 s after
the window. share: good answers of all requests. refused: the gateway's own answers. heard: seconds until a caller of
the fault hears anything (median). again: until good again after the fault. Of several seeds the table has the means,
and weir has to reach each bar with each seed."""


def print_table(rows: list[Row], outcomes: Outcomes) -> None:
    measured = [row for row in rows if any(name == row.name for name, _ in outcomes)]
    shown = [name for name in NAMES if any(gateway == name for _, gateway in outcomes)]
    print()
    print_cells("workload", "best", *shown, "to reach", "reached")
    print_cells(*["---"] * (len(shown) + 4))
    for row in measured:
        cells = [cell(row, mean(outcomes[row.name, name])) if (row.name, name) in outcomes else "" for name in shown]
        bars = "; ".join(str(bar) for bar in row.bars if bar.beside != HAPROXY)
        best = "" if row.best is None else f"{row.best:g}"
        print_cells(f"{row.title} ({', '.join(row.shows)})", best, *cells, bars, reached(row, outcomes))
    print(LEGEND)
    print_beside(measured, outcomes)


def print_cells(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |")


def reached(row: Row, outcomes: Outcomes) -> str:
    if (row.name, WEIR) not in outcomes:
        return ""
    return "no" if failures(row, outcomes) else "yes"


def print_beside(rows: list[Row], outcomes: Outcomes) -> None:
    """Prints weir's good answers beside haproxy's."""
    parts = []
    for row in rows:
        figure = next((bar.figure for bar in row.bars if bar.beside == HAPROXY), None)
        if figure and all((row.name, name) in outcomes for name in (WEIR, HAPROXY)):
            ours, theirs = (mean(outcomes[row.name, name])[figure] for name in (WEIR, HAPROXY))
            parts.append(f"{row.name} {ours / theirs:.2f}" if theirs else f"{row.name} -")
    if parts:
        print(f"\nweir's good answers / haproxy's, at least 0.9 to reach: {', '.join(parts)}")


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f}"


COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "good/s": ("good", RATE),
    "first": ("first", RATE),
    "share": ("share", percent),
    "p50 ms": ("p50", milliseconds),
    "p99 ms": ("p99", milliseconds),
    "refused": ("refused", str),
    "told ms": ("told", milliseconds),
    "gave up": ("gave_up", str),
    "broken": ("broken", str),
    "attempts": ("attempts", "{:.2f}".format),
    "queue": ("queue", str),
}
"""The figures of a line, by their headings."""


def heading() -> str:
    return f"{'row':<14}{'gateway':<9}{'seed':>4}" + "".join(f"{name:>9}" for name in COLUMNS) + "  shown"


def line(outcome: Outcome) -> str:
    """The line that is printed once a run has ended."""
    start = f"{outcome.row.name:<14}{outcome.gateway:<9}{outcome.seed:>4}"
    values = [(outcome.figures[name], written) for name, written in COLUMNS.values()]
    texts = ["-" if value is None else written(value) for value, written in values]
    return start + "".join(f"{text:>9}" for text in texts) + f"  {cell(outcome.row, outcome.figures)}"


def failures(row: Row, outcomes: Outcomes) -> list[str]:
    """How weir missed the row's bars, for each bar with the first seed that missed it."""
    found: list[str] = []
    ours = outcomes.get((row.name, WEIR), [])
    for bar in row.bars:
        others = outcomes.get((bar.than, WEIR) if bar.than else (row.name, bar.beside), [])
        for number, one in enumerate(ours):
            other = others[number].figures[bar.figure] if number < len(others) else None
            missed = bar.missed(one.figures[bar.figure], other)
            if missed:
                reason = f" ({bar})" if bar.beside or bar.than else ""
                found.append(f"row {row.name}, seed {one.seed}, weir: {FIGURES[bar.figure].words} {missed}{reason}")
                break
    bare = sum(one.figures["bare"] for one in ours)
    if bare:
        found.append(
            f"row {row.name}: {bare} refusals of weir with X-Weir-Refused have no Retry-After or no X-No-Retry"
        )
    return found
