"""Prints a line for each run, and at the end a table. Holds the figures of all seeds against the bars."""

from collections.abc import Callable

from lab.overload.figures import FIGURES, RATE, Figures, Outcome, cell, mean, percent
from lab.overload.gateways import HAPROXY, NAMES, WEIR
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
            ours, theirs = (mean_of(row, name, outcomes)[figure] for name in (WEIR, HAPROXY))
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
