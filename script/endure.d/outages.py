"""What the status page says of outages, and that it says nothing while all is well."""

import asyncio
import json
import signal
import subprocess
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from gateway import Gateway
from processes import Failure, free_port
from row import Bar, Place, Row
from servers import Names
from tls import Pair

SHOWN = 10
GONE = 60
"""Seconds within which a sentence has to appear, and to be gone."""
HEALTHY = 600
"""Seconds without any sentence."""
STATUS = {200: "OK", 429: "Too Many Requests", 503: "Service Unavailable"}


@dataclass
class Origin:
    """A server that answers as it is told to."""

    port: int
    status: int = 200
    delay: float = 0
    every: int = 1
    """Only each of so many requests has the status; the others are good."""
    turns: asyncio.Semaphore | None = None
    """Lets so many requests wait out their delay at once."""
    count: int = 0
    server: asyncio.Server | None = None
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def start(self) -> "Origin":
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port, backlog=1024)
        return self

    def stop(self) -> None:
        if self.server:
            self.server.close()
        for writer in self.open:
            writer.close()
        self.server = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.count += 1
                if self.turns:
                    async with self.turns:
                        await asyncio.sleep(self.delay)
                elif self.delay:
                    await asyncio.sleep(self.delay)
                status = self.status if self.count % self.every == 0 else 200
                writer.write(f"HTTP/1.1 {status} {STATUS[status]}\r\nContent-Length: 2\r\n\r\nok".encode())
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open.discard(writer)
            writer.close()


class Callers:
    """Sends requests at a steady rate, whatever becomes of them; each leaves after its patience."""

    def __init__(self, address: str, path: str, rate: float, patience: float = 10) -> None:
        host, _, port = address.partition(":")
        self.place = (host, int(port))
        self.path, self.rate, self.patience = path, rate, patience
        self.idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.all: set[asyncio.Task[None]] = set()
        self.task = asyncio.ensure_future(self.run())

    async def run(self) -> None:
        began, number = time.monotonic(), 0
        while True:
            number += 1
            await asyncio.sleep(max(0, began + number / self.rate - time.monotonic()))
            call = asyncio.ensure_future(self.call())
            self.all.add(call)
            call.add_done_callback(self.all.discard)

    async def call(self) -> None:
        writer = None
        try:
            streams = self.idle.pop() if self.idle else await asyncio.open_connection(*self.place)
            reader, writer = streams
            writer.write(f"GET {self.path} HTTP/1.1\r\nHost: endure\r\n\r\n".encode())
            async with asyncio.timeout(self.patience):
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = head.partition("content-length: ")[2].partition("\r\n")[0]
                await reader.readexactly(int(length or 0))
            if "connection: close" in head:
                writer.close()
            else:
                self.idle.append(streams)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            if writer:
                writer.transport.abort()

    def stop(self) -> None:
        self.task.cancel()
        for call in self.all:
            call.cancel()
        for _, writer in self.idle:
            writer.close()


@asynccontextmanager
async def calling(address: str, path: str, rate: float = 40, patience: float = 10) -> AsyncIterator[None]:
    callers = Callers(address, path, rate, patience)
    try:
        yield
    finally:
        callers.stop()


class Status:
    def __init__(self, gateway: Gateway) -> None:
        self.url = gateway.metrics.rstrip("/") + "/status.json"
        if "/metrics/status" in self.url:
            self.url = self.url.replace("/metrics/status", "/status")

    async def problems(self) -> list[str]:
        def read() -> list[str]:
            with urllib.request.urlopen(self.url, timeout=10) as response:
                told = json.load(response)["problems"]
            return [f"{one['kind']} {one['subject']}: {one['text']}" for one in told]

        return await asyncio.to_thread(read)

    async def until(self, seconds: float, holds: Callable[[list[str]], bool]) -> tuple[float | None, list[str]]:
        """When it held, in seconds from now; nil if it never did. With the last problems that there were."""
        began = time.monotonic()
        while True:
            problems = await self.problems()
            if holds(problems):
                return time.monotonic() - began, problems
            if time.monotonic() - began > seconds:
                return None, problems
            await asyncio.sleep(0.25)


@dataclass
class Rig:
    """A gateway before origins, with all that an outage needs."""

    place: Place
    gateway: Gateway
    status: Status
    origins: list[Origin]
    names: Names
    pair: Pair
    config: str


async def rig(place: Place) -> Rig:
    origins = [await Origin(free_port()).start() for _ in range(4)]
    single, *several = origins
    names, pair = Names(place), Pair(place.directory)
    names.say("found.test", "127.0.0.1")
    await names.start()
    await pair.make(days=90)
    config = f"""listeners:
  - {{ name: plain, address: "127.0.0.1:0" }}
  - {{ name: secure, address: "127.0.0.1:{free_port()}", tls: {pair.listener} }}
upstreams:
  - {{ name: several, endpoints: {[f"127.0.0.1:{one.port}" for one in several]} }}
  - name: found
    endpoints: ["found.test:{single.port}"]
    resolve: {{ servers: ["{names.server}"], family: ipv4 }}
routes:
  - {{ name: retried, match: {{ pathPrefix: /retried }}, upstream: "http://127.0.0.1:{single.port}", retry: {{ limit: 2 }} }}
  - {{ name: several, match: {{ pathPrefix: /several }}, upstream: several }}
  - {{ name: found, match: {{ pathPrefix: /found }}, upstream: found }}
  - {{ name: single, match: {{ pathPrefix: /single }}, upstream: "http://127.0.0.1:{single.port}" }}
  - {{ name: fixed, match: {{ path: /fixed }}, respond: {{ status: 204 }} }}
"""
    gateway = await Gateway.start(place, config)
    return Rig(place, gateway, Status(gateway), origins, names, pair, config)


# Each outage begins, ends, and has words that tell of it.
Outage = tuple[str, str, str, float, float, Callable[[Rig], Awaitable[None]], Callable[[Rig], Awaitable[None]]]


def origin(**change: object) -> Callable[[Rig], Awaitable[None]]:
    async def set_all(rig: Rig) -> None:
        for name, value in change.items():
            setattr(rig.origins[0], name, value)

    return set_all


async def stop_single(rig: Rig) -> None:
    rig.origins[0].stop()


async def start_single(rig: Rig) -> None:
    await rig.origins[0].start()


async def stop_one(rig: Rig) -> None:
    rig.origins[2].stop()


async def start_one(rig: Rig) -> None:
    await rig.origins[2].start()


async def lose_name(rig: Rig) -> None:
    rig.names.say("another.test", "127.0.0.1")


async def find_name(rig: Rig) -> None:
    rig.names.say("found.test", "127.0.0.1")


async def short_certificate(rig: Rig) -> None:
    await rig.pair.make(days=1)
    await rig.gateway.hang_up()


async def long_certificate(rig: Rig) -> None:
    await rig.pair.make(days=90)
    await rig.gateway.hang_up()


async def refused_file(rig: Rig) -> None:
    rig.gateway.file.write_text("routes: 1\n")
    await rig.gateway.hang_up()


async def good_file(rig: Rig) -> None:
    rig.gateway.file.write_text(rig.config)
    await rig.gateway.hang_up()


stopping: list[asyncio.Task[None]] = []


async def stumble(rig: Rig) -> None:
    """The program stands still for a while, again and again."""

    async def stop_often() -> None:
        while True:
            for number, seconds in ((signal.SIGSTOP, 0.25), (signal.SIGCONT, 0.25)):
                rig.gateway.process.process.send_signal(number)
                await asyncio.sleep(seconds)

    stopping.append(asyncio.ensure_future(stop_often()))


async def walk(rig: Rig) -> None:
    stopping.pop().cancel()
    rig.gateway.process.process.send_signal(signal.SIGCONT)


def limit(rig: Rig, soft: int) -> None:
    subprocess.run(["prlimit", f"--pid={rig.gateway.pid}", f"--nofile={soft}:"], check=True)


async def few_descriptors(rig: Rig) -> None:
    limit(rig, rig.gateway.descriptors() + 2)


async def many_descriptors(rig: Rig) -> None:
    limit(rig, 1024)


ONE_AT_A_TIME = asyncio.Semaphore(1)
OUTAGES_TABLE: list[Outage] = [
    ("a destination is down", "/single", "requests fail", 40, 10, stop_single, start_single),
    ("it is slow", "/single", "is slow: half", 40, 10, origin(delay=1.5), origin(delay=0)),
    (
        "it is overloaded",
        "/single",
        "load control refuses",
        200,
        0.5,
        origin(delay=0.02, turns=ONE_AT_A_TIME),
        origin(delay=0, turns=None),
    ),
    ("a retry storm", "/retried", "want a retry", 40, 10, origin(status=503, every=2), origin(status=200, every=1)),
    ("one endpoint is out", "/several", "1 of 3 endpoints is out", 40, 10, stop_one, start_one),
    ("a name is gone", "/found", "can't be looked up", 40, 10, lose_name, find_name),
    ("it limits", "/single", "with 429", 40, 10, origin(status=429), origin(status=200)),
    ("callers leave", "/single", "of callers leave", 40, 0.1, origin(delay=0.3), origin(delay=0)),
    ("a certificate ends", "/fixed", "the certificate of", 5, 10, short_certificate, long_certificate),
    ("a file is refused", "/fixed", "the last reload was refused", 5, 10, refused_file, good_file),
    ("a loop is busy", "/fixed", "an event loop is busy", 5, 10, stumble, walk),
    ("descriptors are used up", "/fixed", "file descriptors are in use", 5, 10, few_descriptors, many_descriptors),
]


async def outages(place: Place) -> list[Bar]:
    here = await rig(place)
    bars = []
    for name, path, words, rate, patience, begin, end in OUTAGES_TABLE:
        if (found := await here.status.until(GONE, lambda told: not told))[0] is None:
            raise Failure(f"before {name}: {found[1]}")
        callers = Callers(here.gateway.address, path, rate, patience)
        # Load control knows the usual time only after a while of good answers.
        await asyncio.sleep(6)
        await begin(here)
        shown, told = await here.status.until(SHOWN, lambda told: any(words in one for one in told))
        place.notes.append(f"{name}: {told}")
        await end(here)
        gone, rest = await here.status.until(GONE, lambda told: not told)
        callers.stop()
        times = [f"{one:.1f} s" if one is not None else "never" for one in (shown, gone)]
        bars.append(Bar(f"{name}: shown {times[0]}, gone {times[1]}", shown is not None and gone is not None))
        if rest:
            place.notes.append(f"{name}, afterwards: {rest}")
    return bars


async def healthy(place: Place) -> list[Bar]:
    here = await rig(place)
    told: list[str] = []
    async with calling(here.gateway.address, "/single"), calling(here.gateway.address, "/several"):
        async with calling(here.gateway.address, "/found"), calling(here.gateway.address, "/fixed"):
            until = time.monotonic() + HEALTHY
            while time.monotonic() < until:
                told += await here.status.problems()
                await asyncio.sleep(1)
    place.notes += sorted(set(told))
    return [Bar(f"{len(told)} sentences in {HEALTHY} s", not told)]


OUTAGES = Row(
    "outages", "-", f"12 outages: each has its sentence within {SHOWN} s and loses it within {GONE} s", outages
)
HEALTHY_ROW = Row("healthy", "-", f"160 requests/s that are well: no sentence in {HEALTHY} s", healthy)
