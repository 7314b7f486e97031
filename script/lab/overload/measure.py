"""The figures of a row's run, and how they are written."""

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from lab import calls as of
from lab.calls import Call
from lab.overload.rows import Row


@dataclass
class Figures:
    """The figures of one run, or the means of several. Rates are per second, times in seconds, shares from 0 to 1. None
    is a time that was not reached, or a figure that the row does not ask for."""

    good: float
    """Good answers per second in the row's window."""
    first: float
    """Good answers per second in the ten seconds after the overload began."""
    share: float
    """The share of good answers to the callers that came in the row's window."""
    urgent: float | None
    """The smaller of the shares of good answers of urgencies 0 and 1."""
    urgencies: str
    p50: float | None
    p99: float | None
    again: float | None
    """The time after the fault until answers were good again."""
    heard: float | None
    """The median time after which the callers of the fault heard anything, or gave up."""
    refused: int
    told: float | None
    """The median time after which refused callers were told so."""
    gave_up: int
    broken: int
    last_refusal: float
    bare: int
    """Refusals of weir's load control without `Retry-After` or `X-No-Retry`."""
    after: float
    """Good answers per second in the five seconds after the row's window."""
    attempts: float
    """Attempts at the origin per request."""
    queue: int


def figures(row: Row, calls: list[Call], attempts: int, queue: int) -> Figures:
    begin, end = row.window
    good = [call.took for call in calls if call.good and begin <= call.due < end]
    urgencies = of.by_urgency(calls, begin, end)
    refused = [call for call in calls if call.refused]
    since, until = row.fault or (0, 0)
    return Figures(
        good=of.good_per_second(calls, begin, end),
        first=of.good_per_second(calls, since, since + 10),
        share=of.good_share(calls, begin, end),
        urgent=min((share for urgency, share in urgencies.items() if urgency <= 1), default=None),
        urgencies=" ".join(f"{100 * share:.0f}" for share in urgencies.values()),
        p50=of.quantile(good, 0.5),
        p99=of.quantile(good, 0.99),
        again=of.good_again(calls, until, row.load.until) if row.fault else None,
        heard=of.quantile((call.took for call in of.due_within(calls, since, until)), 0.5) if row.fault else None,
        refused=len(refused),
        told=of.quantile((call.took for call in refused), 0.5),
        gave_up=of.count(calls, lambda call: call.status == of.GAVE_UP),
        broken=of.count(calls, lambda call: call.status == of.BROKEN),
        last_refusal=of.last_refusal(calls, since),
        bare=of.count(calls, lambda call: call.reason != "" and not call.fields),
        after=of.good_per_second(calls, end, end + 5),
        attempts=attempts / max(1, len(calls)),
        queue=queue,
    )


def mean(runs: list[Figures]) -> Figures:
    """The means of the runs of several seeds. A time that one of them did not reach has no mean."""
    merged: dict[str, Any] = {}
    for name in Figures.__dataclass_fields__:
        values = [getattr(run, name) for run in runs]
        if isinstance(values[0], str):
            merged[name] = values[0]
        else:
            merged[name] = None if any(value is None for value in values) else fmean(values)
    return Figures(**merged)


def cell(row: Row, one: Figures) -> str:
    return "; ".join(written(row, one, name) for name in row.shows)


def written(row: Row, one: Figures, name: str) -> str:
    value = getattr(one, name)
    if name == "again" and row.fault:
        return f"over {row.load.until - row.fault[1] - 3:.0f} s" if value is None else f"{value:.2f} s"
    if isinstance(value, str):
        return value
    if value is None:
        return "-"
    if name in ("share", "urgent"):
        return f"{100 * value:.1f} %"
    if name in ("heard", "p50", "p99", "last_refusal"):
        return f"{value:.3f} s" if value < 0.1 else f"{value:.2f} s"
    return f"{value:.1f}" if name in ("good", "first", "after") else f"{value:.0f}"
