"""Prints a line for each run, and at the end a table. Holds the figures of all seeds against the bars."""

from lab.overload.gateways import HAPROXY, NAMES, WEIR
from lab.overload.lane import Outcome
from lab.overload.measure import Figures, cell, mean
from lab.overload.rows import Row

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
        cells = [cell(row, mean_of(row, name, outcomes)) if (row.name, name) in outcomes else "" for name in shown]
        bars = "; ".join(str(bar) for bar in row.bars if bar.beside != HAPROXY)
        best = "" if row.best is None else f"{row.best:g}"
        print_cells(f"{row.title} ({', '.join(row.shows)})", best, *cells, bars, reached(row, outcomes))
    print(LEGEND)
    print_beside(measured, outcomes)


def print_cells(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |")


def mean_of(row: Row, gateway: str, outcomes: Outcomes) -> Figures:
    return mean([one.figures for one in outcomes[row.name, gateway]])


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
            ours, theirs = (getattr(mean_of(row, name, outcomes), figure) for name in (WEIR, HAPROXY))
            parts.append(f"{row.name} {ours / theirs:.2f}" if theirs else f"{row.name} -")
    if parts:
        print(f"\nweir's good answers / haproxy's, at least 0.9 to reach: {', '.join(parts)}")


def heading() -> str:
    columns = ("good/s", "first", "share", "p50 ms", "p99 ms", "refused", "told ms", "gave up", "broken", "attempts")
    return f"{'row':<14}{'gateway':<9}{'seed':>4}" + "".join(f"{name:>9}" for name in (*columns, "queue")) + "  shown"


def line(outcome: Outcome) -> str:
    """The line that is printed once a run has ended."""
    one = outcome.figures
    texts = (
        f"{one.good:.1f}",
        f"{one.first:.1f}",
        f"{100 * one.share:.1f} %",
        milliseconds(one.p50),
        milliseconds(one.p99),
        f"{one.refused}",
        milliseconds(one.told),
        f"{one.gave_up}",
        f"{one.broken}",
        f"{one.attempts:.2f}",
        f"{one.queue}",
    )
    start = f"{outcome.row.name:<14}{outcome.gateway:<9}{outcome.seed:>4}"
    return start + "".join(f"{text:>9}" for text in texts) + f"  {cell(outcome.row, one)}"


def milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:.0f}"


def failures(row: Row, outcomes: Outcomes) -> list[str]:
    """How weir missed the row's bars, for each bar with the first seed that missed it."""
    found: list[str] = []
    ours = outcomes.get((row.name, WEIR), [])
    for bar in row.bars:
        others = outcomes.get((bar.than, WEIR) if bar.than else (row.name, bar.beside), [])
        for number, one in enumerate(ours):
            other = getattr(others[number].figures, bar.figure) if number < len(others) else None
            missed = bar.missed(getattr(one.figures, bar.figure), other)
            if missed:
                reason = f" ({bar})" if bar.beside or bar.than else ""
                found.append(f"row {row.name}, seed {one.seed}, weir: {missed}{reason}")
                break
    bare = sum(one.figures.bare for one in ours)
    if bare:
        found.append(
            f"row {row.name}: {bare} refusals of weir with X-Weir-Refused have no Retry-After or no X-No-Retry"
        )
    return found
