"""Load: callers who come at their times, callers in a row, and wrk."""

import asyncio
import itertools
import re
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lab.calls import BROKEN, GAVE_UP, NORMAL, Call
from lab.client import BROKEN_OFF, Connection, Pool
from lab.processes import Failure, Place

Request = tuple[str, str] | tuple[str, str, bytes]
"""A method, a path and perhaps a body."""


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
        **tls: Any,
    ) -> None:
        """`arrivals` are the times and urgencies of the requests, which go to the addresses in turn."""
        self.pools = [Pool(address, **tls) for address in addresses]
        self.arrivals, self.path, self.patience, self.fields = arrivals, path, patience, fields
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
                answer = await pool.ask(self.path, fields)
            status, found = answer.status, answer.fields
        except TimeoutError:
            status = GAVE_UP
        except BROKEN_OFF:
            pass
        told = "retry-after" in found and "x-no-retry" in found
        about = "x-origin" in found, found.get("x-weir-refused", ""), told, urgency, found.get("x-server", "")
        self.calls.append(Call(round(due, 4), round(self.now(), 4), status, *about))

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
