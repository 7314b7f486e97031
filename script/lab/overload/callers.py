"""When callers come, and how urgent each is; and the callers of one gateway or several, as a process of its own:

    python -m lab.overload.callers LOAD SEED HOST:PORT…

LOAD is a Load as JSON. Its clock begins with the order `begin TIME` on standard input, a time of the monotonic clock. Each second
the process tells the calls that ended, as lists in the order of calls.Call, how late it began calls, and whether all have ended.
"""

import asyncio
import itertools
import json
import random
import sys
from dataclasses import dataclass

from lab import child
from lab.calls import BROKEN, GAVE_UP, Call
from lab.client import BROKEN_OFF, Pool

NORMAL = 3
"""The urgency of a request without `Priority` (RFC 9218, section 4.1)."""
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


class Callers:
    def __init__(self, load: Load, seed: int, addresses: tuple[str, ...]) -> None:
        self.load = load
        self.due = arrivals(load, seed)
        self.gateways = itertools.cycle([Pool(address) for address in addresses])
        self.loop = asyncio.get_running_loop()
        self.zero = 0.0
        self.running: set[asyncio.Task[None]] = set()
        self.begun = self.ended = 0
        self.calls: list[Call] = []
        self.late: list[float] = []

    def begin(self, time: str) -> None:
        self.zero = float(time)
        self.wait_for_next()

    def take(self) -> dict[str, object]:
        taken = {"calls": self.calls, "late": self.late, "finished": self.ended == len(self.due)}
        self.calls, self.late = [], []
        return taken

    def wait_for_next(self) -> None:
        if self.begun < len(self.due):
            self.loop.call_at(self.zero + self.due[self.begun][0], self.begin_due)

    def begin_due(self) -> None:
        """Begins the calls that are due, however many are under way."""
        now = self.loop.time() - self.zero
        while self.begun < len(self.due) and self.due[self.begun][0] <= now:
            due, urgency = self.due[self.begun]
            self.begun += 1
            self.late.append(round(now - due, 4))
            call = self.loop.create_task(self.call(next(self.gateways), due, urgency))
            self.running.add(call)
            call.add_done_callback(self.running.discard)
        self.wait_for_next()

    async def call(self, gateway: Pool, due: float, urgency: int) -> None:
        fields = "" if urgency == NORMAL else f"Priority: u={urgency}\r\n"
        found: tuple[int, bool, str, bool] = BROKEN, False, "", False
        try:
            async with asyncio.timeout_at(self.zero + due + self.load.patience):
                answer = await gateway.ask(fields=fields)
            told = "retry-after" in answer.fields and "x-no-retry" in answer.fields
            found = answer.status, "x-origin" in answer.fields, answer.fields.get("x-weir-refused", ""), told
        except TimeoutError:
            found = GAVE_UP, False, "", False
        except BROKEN_OFF:
            pass
        self.ended += 1
        self.calls.append(Call(round(due, 4), round(self.loop.time() - self.zero, 4), *found, urgency))


async def main(load: str, seed: str, *addresses: str) -> None:
    callers = Callers(Load(**json.loads(load)), int(seed), addresses)
    child.tell(ready=True)
    await child.serve(callers.take, {"begin": callers.begin})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
