"""The pauses for which the API asked, and how they were kept."""

from collections.abc import Iterable
from typing import NamedTuple

from lab.pace.api import Hit


class Pause(NamedTuple):
    """The time in which no attempt is to come. Times are in seconds since the beginning."""

    began: float
    """When the answer was sent that asked for it."""
    ends: float
    under_way: int
    """The attempts that were on their way, or waited for their answers, when it began."""
    early: int
    """The attempts that began in it."""
    first: Hit | None
    """The first attempt after it."""
    alone: bool
    """Whether the first attempt after it had its answer before another one came."""


def pauses(hits: Iterable[Hit], reaction: float) -> list[Pause]:
    """An answer of 429 in a pause prolongs it. Attempts that come within `reaction` of its beginning were sent before the gateway had
    the answer.

    >>> found = pauses([Hit(0, 1, 1, 0), Hit(0.9, 1.9, 0, 0), Hit(1.05, 1.1, 1, 0), Hit(1.5, 1.6, 0, 0)], 0.1)
    >>> found == [Pause(began=1, ends=2.1, under_way=2, early=1, first=None, alone=True)]
    True

    Of two that follow, the second comes while the first waits for its answer.

    >>> first = Hit(2, 2.5, 0, 0)
    >>> found = pauses([Hit(0, 1, 1, 0), first, Hit(2.4, 2.9, 0, 0)], 0.1)
    >>> found == [Pause(began=1, ends=2, under_way=0, early=0, first=first, alone=False)]
    True
    """
    hits = sorted(hits)
    times: list[tuple[float, float]] = []
    for sent, seconds in sorted((hit.sent, hit.pause) for hit in hits if hit.pause):
        if times and sent < times[-1][1]:
            times[-1] = times[-1][0], max(times[-1][1], sent + seconds)
        else:
            times.append((sent, sent + seconds))
    return [pause(hits, began, ends, reaction) for began, ends in times]


def pause(hits: list[Hit], began: float, ends: float, reaction: float) -> Pause:
    under_way = sum(hit.came <= began + reaction and hit.sent > began for hit in hits)
    early = sum(began + reaction < hit.came < ends for hit in hits)
    after = [hit for hit in hits if hit.came >= ends]
    alone = all(hit.came >= after[0].sent for hit in after[1:])
    return Pause(began, ends, under_way, early, after[0] if after else None, alone)


def wrong(told: float, least: float, most: float) -> float:
    """By how many seconds `Retry-After` told too few or too many: it has whole seconds, rounded up. When it was told, between `least`
    and `most` seconds were left.

    >>> [round(wrong(told, 2.25, 3.5), 2) for told in (2, 3, 4, 5)]
    [-0.25, 0.0, 0.0, 0.5]
    """
    return min(0.0, told - least) + max(0.0, told - most - 1)
