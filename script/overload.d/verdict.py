"""Holds the figures of all seeds against the bars, and prints the table."""

from gateways import HAPROXY, NAMES, WEIR
from lane import Outcome
from measure import Figures, cell, mean
from rows import Row

Outcomes = dict[tuple[str, str], list[Outcome]]
"""By row and gateway, one for each seed."""


def failures(row: Row, outcomes: Outcomes) -> list[str]:
    """How weir missed the row's bars, in the worst of its seeds."""
    found: list[str] = []
    ours = outcomes.get((row.name, WEIR), [])
    for bar in row.bars:
        others = outcomes.get((bar.than, WEIR) if bar.than else (row.name, bar.beside), [])
        for number, one in enumerate(ours):
            other = getattr(others[number].figures, bar.figure) if number < len(others) else None
            missed = bar.missed(getattr(one.figures, bar.figure), other)
            if missed:
                reason = f" ({bar})" if bar.beside or bar.than else ""
                found.append(f"{row.name}, seed {one.seed}: {missed}{reason}")
                break
    bare = sum(one.figures.bare for one in ours)
    if bare:
        found.append(f"{row.name}: {bare} refusals with X-Weir-Refused had no Retry-After or no X-No-Retry")
    return found


def print_table(rows: list[Row], outcomes: Outcomes) -> None:
    shown = [name for name in NAMES if any((row.name, name) in outcomes for row in rows)]
    heads = ["workload", "best", *shown, "to reach", "reached"]
    print("\n| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in rows:
        figures = {name: mean([one.figures for one in outcomes[row.name, name]]) for name in shown if (row.name, name) in outcomes}
        if not figures:
            continue
        cells = [cell(row, figures[name]) if name in figures else "" for name in shown]
        bars = "; ".join(str(bar) for bar in row.bars if bar.beside != HAPROXY)
        best = "" if row.best is None else f"{row.best:g}"
        print("| " + " | ".join([f"{row.title} ({', '.join(row.shows)})", best, *cells, bars, reached(row, outcomes)]) + " |")
    print("\ngood, first, after: good answers per second in the row's window, in the first 10 s of the overload, in the 5 s after")
    print("the window. share: good answers of all. heard: until a caller of the fault hears anything (median). again: until good")
    print("again after the fault. Of several seeds these are the means, while weir has to reach each bar with each seed.")
    print_beside(rows, outcomes)


def reached(row: Row, outcomes: Outcomes) -> str:
    if (row.name, WEIR) not in outcomes:
        return ""
    return "no" if failures(row, outcomes) else "yes"


def print_beside(rows: list[Row], outcomes: Outcomes) -> None:
    """Weir's good answers beside haproxy's."""
    compared = [
        (row, bar) for row in rows for bar in row.bars if bar.beside == HAPROXY and (row.name, HAPROXY) in outcomes
    ]
    parts = []
    for row, bar in compared:
        if (row.name, WEIR) in outcomes:
            ours, theirs = (
                getattr(mean([one.figures for one in outcomes[row.name, name]]), bar.figure) for name in (WEIR, HAPROXY)
            )
            parts.append(f"{row.name} {ours / theirs:.2f}" if theirs else f"{row.name} -")
    if parts:
        print(f"weir's good answers / haproxy's, to reach 0.9: {', '.join(parts)}")


def line(outcome: Outcome) -> str:
    """What is printed once a run has ended."""
    one = outcome.figures
    return (
        f"{outcome.row.name:<14}{outcome.gateway:<9}{outcome.seed:>4}{one.good:>7.1f}{one.first:>7.1f}{100 * one.share:>7.1f}%"
        f"{milliseconds(one.p50):>8}{milliseconds(one.p99):>8}{one.refused:>8}{milliseconds(one.told):>8}{one.gave_up:>8}"
        f"{one.broken:>7}{one.attempts:>9.2f}{one.queue:>7}  {cell(outcome.row, one)}"
    )


HEADING = (
    f"{'row':<14}{'gateway':<9}{'seed':>4}{'good/s':>7}{'first':>7}{'share':>8}{'p50 ms':>8}{'p99 ms':>8}{'refused':>8}{'told ms':>8}"
    f"{'gave up':>8}{'broken':>7}{'attempts':>9}{'queue':>7}  the row's figures"
)


def milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:.0f}"


def columns(figures: Figures) -> list[object]:
    return [getattr(figures, name) for name in Figures.__dataclass_fields__]
