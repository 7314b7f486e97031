"""Load: callers who come at their times, callers in a row, and wrk; the ends of their requests, and the figures that follow from them."""

import asyncio
import itertools
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lab.client import BROKEN_OFF, Connection, Pool
from lab.processes import Failure, Place

Request = tuple[str, str] | tuple[str, str, bytes]
"""A method, a path and perhaps a body."""
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
    retry_after: str = ""
    """The value of `Retry-After`."""

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


class Schedule:
    """Sends requests at their times, whatever becomes of those before. So in the long run the rate is the same, even on a machine
    that is short of time. Each caller leaves after its patience."""

    def __init__(
        self,
        addresses: Sequence[str],
        arrivals: Iterable[tuple[float, int]],
        path: str = "/",
        patience: float = 20,
        fields: str = "",
        method: str = "GET",
        body: bytes = b"",
        **tls: Any,
    ) -> None:
        """`arrivals` are the times and urgencies of the requests, which go to the addresses in turn. Only a POST has a body."""
        self.pools = [Pool(address, **tls) for address in addresses]
        self.arrivals, self.path, self.patience, self.fields = arrivals, path, patience, fields
        self.method, self.body = method, body
        self.paused = False
        self.sent = 0
        self.late: list[float] = []
        """How late requests were sent."""
        self.calls: list[Call] = []
        """Those that have ended."""
        self.running: set[asyncio.Task[None]] = set()

    def begin(self, zero: float | None = None) -> "Schedule":
        """The times count from `zero`, by the monotonic clock; otherwise from now on."""
        self.zero = time.monotonic() if zero is None else zero
        self.task = asyncio.create_task(self.send())
        return self

    def now(self) -> float:
        return time.monotonic() - self.zero

    async def send(self) -> None:
        pools = itertools.cycle(self.pools)
        for due, urgency in self.arrivals:
            await asyncio.sleep(due - self.now())
            if not self.paused:
                self.sent += 1
                self.late.append(round(self.now() - due, 4))
                call = asyncio.create_task(self.call(next(pools), due, urgency))
                self.running.add(call)
                call.add_done_callback(self.running.discard)

    async def call(self, pool: Pool, due: float, urgency: int) -> None:
        fields = self.fields if urgency == NORMAL else f"{self.fields}Priority: u={urgency}\r\n"
        status, found = BROKEN, {}
        try:
            async with asyncio.timeout(due + self.patience - self.now()):
                answer = await pool.ask(self.path, fields, self.method, self.body)
            status, found = answer.status, answer.fields
        except TimeoutError:
            status = GAVE_UP
        except BROKEN_OFF:
            pass
        told = "retry-after" in found and "x-no-retry" in found
        about = "x-origin" in found, found.get("x-weir-refused", ""), told, urgency, found.get("x-server", "")
        after = found.get("retry-after", "")
        self.calls.append(Call(round(due, 4), round(self.now(), 4), status, *about, after))

    async def end(self) -> None:
        """Sends no more, and waits for what is under way."""
        self.task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)
        for pool in self.pools:
            pool.close()

    async def stop(self) -> None:
        for call in self.running:
            call.cancel()
        await self.end()


def steady(address: str, rate: float, **more: Any) -> Schedule:
    """So many requests per second."""
    return Schedule([address], ((number / rate, NORMAL) for number in itertools.count(1)), **more)


class Callers:
    """Each sends one request after another over a connection that it keeps, and waits for its answer."""

    def __init__(self, address: str, count: int, requests: Iterable[Request], echo: bool = False) -> None:
        self.requests = iter(requests)
        self.echo = echo
        """Whether the body of a good answer has to be the path."""
        self.sent = 0
        self.counts: Counter[str] = Counter()
        """The numbers of statuses; and of answers that are `wrong`, of `none`, and of connections that were `broken`."""
        self.ending = False
        self.tasks = [asyncio.create_task(self.call(Connection(address))) for _ in range(count)]

    async def call(self, connection: Connection) -> None:
        while not self.ending and (request := next(self.requests, None)):
            self.sent += 1
            self.counts[await self.outcome(connection, request)] += 1
        connection.close()

    async def outcome(self, connection: Connection, request: Request) -> str:
        try:
            # The routes' timeouts are far shorter, so that the gateway always answers first.
            async with asyncio.timeout(20):
                answer = await connection.ask(*request)
        except TimeoutError:
            return "none"
        except BROKEN_OFF:
            return "broken"
        if self.echo and answer.status == 200 and answer.body.decode() != request[1]:
            return "wrong"
        return str(answer.status)

    async def ended(self) -> Counter[str]:
        """The counts once all requests have ended."""
        await asyncio.gather(*self.tasks)
        return self.counts

    async def end(self) -> Counter[str]:
        self.ending = True
        return await self.ended()


async def send(address: str, count: int, callers: int, request: Callable[[int], Request]) -> Counter[str]:
    """Sends so many requests."""
    return await Callers(address, callers, map(request, range(count))).ended()


def failed(counts: Counter[str]) -> int:
    return counts.total() - counts["200"]


@dataclass
class Loaded:
    requests: int
    failed: int
    output: str


class Wrk:
    """Runs from `begin` to `end`."""

    def __init__(
        self,
        place: Place,
        url: str,
        seconds: float,
        connections: int = 64,
        fields: Sequence[str] = (),
        name: str = "wrk",
    ) -> None:
        more = [argument for field in fields for argument in ("-H", field)]
        self.command = ("wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--timeout", "10s", *more, url)
        self.place = place
        self.name = name

    async def begin(self) -> "Wrk":
        self.process = await self.place.start(self.name, *self.command)
        return self

    async def stop(self) -> Loaded:
        """Ends it before its time."""
        self.process.process.send_signal(signal.SIGINT)
        return await self.end()

    async def end(self) -> Loaded:
        await self.process.process.wait()
        return loaded(self.process.log.read_text())


def loaded(output: str) -> Loaded:
    """
    >>> loaded("  10 requests in 1s\\n  Socket errors: connect 1, read 2, write 0, timeout 0\\n").failed
    3
    """
    requests = re.search(r"(\d+) requests in", output)
    if not requests:
        raise Failure(f"wrk: {output}")
    errors = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    failed = sum(map(int, errors.groups())) if errors else 0
    return Loaded(int(requests[1]), failed + (int(wrong[1]) if wrong else 0), output)


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
