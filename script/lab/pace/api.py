"""An API that takes so many requests in a second and answers the others 429, and asks for pauses. As a process of its own:

    python -m lab.pace.api PLAN

PLAN is a Plan as JSON. It tells its address. Its clock begins with the order `begin TIME` on standard input, a time of the monotonic
clock. Then it tells each second the requests that it answered, as lists in the order of Hit."""

import asyncio
import json
import sys
import time
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from lab.credentials.server import Request, Server, response
from lab.processes import obey, tell

LIMIT = 50
"""Requests that are taken in a second."""
LATENCY = 0.05
"""Seconds from a request to its answer, whether it is good or not. The decision is made when the request comes."""
FIXED, SLIDING = "fixed", "sliding"


@dataclass(frozen=True)
class Plan:
    window: str = ""
    """The second that the limit is about: `fixed`, one of the clock; `sliding`, the one that ends now. Without it there is no limit."""
    pauses: tuple[tuple[float, int], ...] = ()
    """Times and seconds: the first request after such a time is answered 429 with so many seconds of `Retry-After`."""


class Hit(NamedTuple):
    """A request that was answered. Times are in seconds since the beginning."""

    came: float
    sent: float
    """When the answer was."""
    pause: int
    """The seconds of `Retry-After`; 0 for a good answer."""
    retry: int
    """Its number as a retry; 0 for a first attempt."""

    @property
    def good(self) -> bool:
        return not self.pause


class Fixed:
    """
    >>> limit = Fixed(2)
    >>> [limit.takes(at) for at in (0.1, 0.2, 0.9, 1.0, 1.1, 1.2)]
    [True, True, False, True, True, False]
    """

    def __init__(self, count: int = LIMIT) -> None:
        self.count, self.second, self.taken = count, -1, 0

    def takes(self, at: float) -> bool:
        if int(at) != self.second:
            self.second, self.taken = int(at), 0
        self.taken += self.taken <= self.count
        return self.taken <= self.count


class Sliding:
    """Requests that are refused don't count.

    >>> limit = Sliding(2)
    >>> [limit.takes(at) for at in (0.25, 0.75, 1.0, 1.25, 1.5, 1.75)]
    [True, True, False, True, False, True]
    """

    def __init__(self, count: int = LIMIT) -> None:
        self.count = count
        self.times: deque[float] = deque()

    def takes(self, at: float) -> bool:
        while self.times and self.times[0] <= at - 1:
            self.times.popleft()
        if len(self.times) == self.count:
            return False
        self.times.append(at)
        return True


def limit(window: str) -> Fixed | Sliding | None:
    match window:
        case "fixed":
            return Fixed()
        case "sliding":
            return Sliding()
    return None


class API(Server):
    def __init__(self, plan: Plan) -> None:
        super().__init__(self.judge)
        self.limit = limit(plan.window)
        self.pauses = deque(plan.pauses)
        self.zero = float("inf")
        self.hits: list[Hit] = []

    def begin(self, zero: str) -> None:
        self.zero = float(zero)

    def now(self) -> float:
        return time.monotonic() - self.zero

    def pause(self, at: float) -> int:
        """The seconds of `Retry-After` for a request that comes at a time since the beginning; 0 if it is taken."""
        if self.pauses and self.pauses[0][0] <= at:
            return self.pauses.popleft()[1]
        return 1 if self.limit and not self.limit.takes(self.zero + at) else 0

    async def judge(self, request: Request, writer: asyncio.StreamWriter) -> None:
        came = self.now()
        pause = self.pause(came)
        await asyncio.sleep(LATENCY)
        sent = self.now()
        after = f"Retry-After: {pause}\r\n" if pause else ""
        writer.write(response(429 if pause else 200, "", f"X-Origin: 1\r\n{after}"))
        self.hits.append(Hit(came, sent, pause, int(request.fields.get("x-retry-attempt", 0))))

    def take(self) -> dict[str, object]:
        hits, self.hits = self.hits, []
        return {"hits": hits}


async def main(plan: str) -> None:
    api = API(Plan(**json.loads(plan)))
    await api.start()
    tell(address=api.address)
    await obey(api.take, {"begin": api.begin})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
