"""Holds the figures of all seeds against the bars."""

from gateways import WEIR
from lane import Outcome
from rows import Row

Outcomes = dict[tuple[str, str], list[Outcome]]
"""The outcomes by row and gateway, one for each seed."""


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
