"""When callers come, and how urgent each is; and the callers of one gateway or several, as a process of its own:

    python -m lab.overload.callers LOAD SEED HOST:PORT…

LOAD is a Load as JSON. Its clock begins with the order `begin TIME` on standard input, a time of the monotonic clock. Each second
the process tells the calls that ended, as lists in the order of calls.Call, how late it began calls, and whether all have ended.
"""

import asyncio
import json
import random
import sys
from dataclasses import dataclass

from lab.load import NORMAL, Schedule
from lab.processes import obey, tell

AT_ONCE = 0.0005
"""Seconds between requests that come at once: the callers' loop can begin so many."""


@dataclass(frozen=True)
class Load:
    """Rates are pairs of a time in seconds and the requests per second from then on; bursts are pairs of a time and a
    number of requests at once; urgencies are pairs of `u` and the share of requests that have it."""

    rates: tuple[tuple[float, float], ...] = ()
    until: float = 0
    bursts: tuple[tuple[float, int], ...] = ()
    urgencies: tuple[tuple[int, float], ...] = ()
    patience: float = 2
    """Seconds after which a caller closes its connection."""


def arrivals(load: Load, seed: int) -> list[tuple[float, int]]:
    """The times and urgencies of the calls, in order of time: Poisson arrivals at the rates.

    >>> load = Load(rates=((0, 20), (10, 200), (11, 0), (15, 20)), until=20, bursts=((5, 3),))
    >>> times = [at for at, urgency in arrivals(load, seed=7)]
    >>> times == sorted(times), [sum(begin <= at < begin + 1 for at in times) for begin in (5, 10, 11, 12, 14)]
    (True, [33, 208, 0, 0, 0])
    >>> 80 < sum(at >= 15 for at in times) < 120 and max(times) < 20
    True
    >>> urgent = arrivals(Load(rates=((0, 1000),), until=1, urgencies=((0, 0.1), (5, 0.9))), seed=7)
    >>> 0.07 < sum(urgency == 0 for at, urgency in urgent) / len(urgent) < 0.13, {urgency for at, urgency in urgent}
    (True, {0, 5})
    """
    chance = random.Random(seed)
    times = [at + number * AT_ONCE for at, count in load.bursts for number in range(count)]
    ends = [begin for begin, _ in load.rates[1:]] + [load.until]
    for (at, rate), end in zip(load.rates, ends):
        while rate > 0 and (at := at + chance.expovariate(rate)) < end:
            times.append(at)
    return [(at, urgency(load, chance.random())) for at in sorted(times)]


def urgency(load: Load, luck: float) -> int:
    for value, share in load.urgencies:
        luck -= share
        if luck <= 0:
            return value
    return load.urgencies[-1][0] if load.urgencies else NORMAL


async def main(load: str, seed: str, *addresses: str) -> None:
    plan = Load(**json.loads(load))
    due = arrivals(plan, int(seed))
    callers, told = Schedule(addresses, due, patience=plan.patience), 0

    def take() -> dict[str, object]:
        nonlocal told
        calls, late = callers.calls, callers.late
        callers.calls, callers.late, told = [], [], told + len(calls)
        return {"calls": calls, "late": late, "finished": told == len(due)}

    tell(ready=True)
    await obey(take, {"begin": lambda time: callers.begin(float(time))})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
