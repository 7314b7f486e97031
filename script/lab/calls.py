"""The ends of requests, and the figures that follow from them."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

GAVE_UP, BROKEN = -1, 0
"""In place of a status: the caller closed its connection, or the connection ended without an answer."""


NORMAL = 3
"""The urgency of a request without `Priority` (RFC 9218, section 4.1)."""


class Call(NamedTuple):
    """Times are in seconds of one clock."""

    due: float
    ended: float
    status: int
    origins: bool = False
    """Whether the origin answered, and not the gateway."""
    reason: str = ""
    """The value of `X-Weir-Refused`."""
    fields: bool = False
    """Whether the answer had `Retry-After` and `X-No-Retry`."""
    urgency: int = NORMAL
    server: str = ""
    """The address and port of the server that answered, if it is an nginx of ours."""

    @property
    def good(self) -> bool:
        return self.status == 200

    @property
    def refused(self) -> bool:
        """Whether the gateway itself gave a bad answer. A caller that gave up or lost its connection had no answer."""
        return self.status > 0 and not self.good and not self.origins

    @property
    def took(self) -> float:
        return self.ended - self.due


def count(calls: Iterable[Call], kind: Callable[[Call], bool]) -> int:
    return sum(kind(call) for call in calls)


def due_within(calls: Iterable[Call], begin: float, end: float) -> list[Call]:
    return [call for call in calls if begin <= call.due < end]


def good_per_second(calls: Iterable[Call], begin: float, end: float) -> float:
    """The good answers that came in this time, whenever their callers did.

    >>> good_per_second([Call(0, 1, 200), Call(1, 3, 200), Call(2, 3, 503), Call(3, 5, 200)], 1, 5)
    0.5
    """
    return count(calls, lambda call: call.good and begin <= call.ended < end) / (end - begin)


def good_share(calls: Iterable[Call], begin: float, end: float) -> float:
    """
    >>> good_share([Call(0, 1, 200), Call(1, 3, GAVE_UP), Call(2, 3, 200)], 0, 2), good_share([], 0, 2)
    (0.5, 1)
    """
    chosen = due_within(calls, begin, end)
    return count(chosen, lambda call: call.good) / len(chosen) if chosen else 1


def good_again(calls: Iterable[Call], since: float, until: float) -> float | None:
    """Seconds until 95 % of the callers of each of three seconds in a row got a good answer, in quarters of a second.

    >>> calls = [Call(at / 10, at / 10 + 0.1, 503 if at < 32 else 200) for at in range(100)]
    >>> good_again(calls, 2, 10), good_again(calls, 2, 6), good_again(calls, 8, 10)
    (1.25, None, None)
    """
    calls = list(calls)
    at = since
    while at <= until - 3:
        if all(good_share(calls, at + second, at + second + 1) >= 0.95 for second in range(3)):
            return at - since
        at += 0.25
    return None


def last_refusal(calls: Iterable[Call], since: float) -> float:
    """
    >>> last_refusal([Call(1, 1.5, 503), Call(6, 7, 503), Call(7, 8, 503, origins=True)], 5), last_refusal([], 5)
    (2, 0)
    """
    return max((call.ended - since for call in calls if call.refused and call.ended > since), default=0)


def quantile(values: Iterable[float], share: float) -> float | None:
    """
    >>> quantile([3, 1, 2, 4], 0.5), quantile(range(101), 0.99), quantile([], 0.5)
    (3, 99, None)
    """
    ordered = sorted(values)
    return ordered[int(share * (len(ordered) - 1) + 0.5)] if ordered else None


def median_took(calls: Iterable[Call]) -> float | None:
    return quantile((call.took for call in calls), 0.5)


def by_urgency(calls: Iterable[Call], begin: float, end: float) -> dict[int, float]:
    """The share of good answers of each urgency.

    >>> by_urgency([Call(0, 1, 200, urgency=0), Call(0, 2, 503, urgency=5), Call(0, 2, 200, urgency=5)], 0, 1)
    {0: 1.0, 5: 0.5}
    """
    chosen = due_within(calls, begin, end)
    found = sorted({call.urgency for call in chosen})
    return {one: good_share([call for call in chosen if call.urgency == one], begin, end) for one in found}
