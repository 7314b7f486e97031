"""The status page: what it says of outages, and that it says nothing while all is well."""

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

from lab.client import get
from lab.endure.rows import Bar, row
from lab.gateway import Gateway, flow
from lab.load import steady
from lab.models import REFUSES, Phase
from lab.origin import Origin
from lab.processes import Failure, Place, free_port
from lab.servers import Names
from lab.tls import Pair

SHOWN = 10
GONE = 60
"""Seconds within which a sentence has to appear, and to be gone."""
HEALTHY = 600
"""Seconds without any sentence."""
WELL = Phase(service=0, servers=10_000)
DOWN = Phase(state=REFUSES)


@dataclass
class Rig:
    """A gateway before origins, with all that an outage needs."""

    gateway: Gateway
    single: Origin
    several: list[Origin]
    names: Names
    pair: Pair
    config: str

    async def problems(self) -> list[str]:
        """The sentences of the status page."""
        told = json.loads(await get(self.gateway.metrics.replace("/metrics", "/status.json")))["problems"]
        return [f"{one['kind']} {one['subject']}: {one['text']}" for one in told]

    async def until(self, seconds: float, holds: Callable[[list[str]], bool]) -> tuple[float | None, list[str]]:
        """When it held, in seconds from now; None if it never did. With the last problems that there were."""
        began = time.monotonic()
        while True:
            problems = await self.problems()
            if holds(problems):
                return time.monotonic() - began, problems
            if time.monotonic() - began > seconds:
                return None, problems
            await asyncio.sleep(0.25)

    async def is_well(self) -> tuple[float | None, list[str]]:
        return await self.until(GONE, lambda told: not told)

    async def renew(self, days: int) -> None:
        await self.pair.make(days)
        await self.gateway.hang_up()

    async def write(self, config: str) -> None:
        self.gateway.file.write_text(config)
        await self.gateway.hang_up()

    def stumble(self) -> None:
        """The program stands still for a while, again and again."""

        async def stop_often() -> None:
            while True:
                for number in (signal.SIGSTOP, signal.SIGCONT):
                    self.gateway.process.process.send_signal(number)
                    await asyncio.sleep(0.25)

        self.stumbling = asyncio.create_task(stop_often())

    def walk(self) -> None:
        self.stumbling.cancel()
        self.gateway.process.process.send_signal(signal.SIGCONT)

    def limit(self, descriptors: int) -> None:
        subprocess.run(["prlimit", f"--pid={self.gateway.pid}", f"--nofile={descriptors}:"], check=True)


async def rig(place: Place) -> Rig:
    single, *several = [await Origin(WELL).start() for _ in range(4)]
    names, pair = Names(place), Pair(place.directory)
    names.say("found.test", "127.0.0.1")
    await names.start()
    await pair.make(days=90)
    config = f"""listeners:
  - {{ name: plain, address: "127.0.0.1:0" }}
  - {{ name: secure, address: "127.0.0.1:{free_port()}", tls: {pair.listener} }}
upstreams:
  - {{ name: several, endpoints: {flow([one.address for one in several])} }}
  - name: found
    endpoints: ["found.test:{single.port}"]
    resolve: {{ servers: ["{names.server}"], family: ipv4 }}
routes:
  - {{ name: retried, match: {{ pathPrefix: /retried }}, upstream: "http://{single.address}", retry: {{ limit: 2 }} }}
  - {{ name: several, match: {{ pathPrefix: /several }}, upstream: several }}
  - {{ name: found, match: {{ pathPrefix: /found }}, upstream: found }}
  - {{ name: single, match: {{ pathPrefix: /single }}, upstream: "http://{single.address}" }}
  - {{ name: fixed, match: {{ path: /fixed }}, respond: {{ status: 204 }} }}
"""
    return Rig(await Gateway.start(place, config), single, several, names, pair, config)


Act = Callable[[Rig], Awaitable[None] | None]


@dataclass
class Outage:
    name: str
    words: str
    """They tell of it."""
    begin: Act
    end: Act
    path: str = "/single"
    rate: float = 40
    patience: float = 10


def trouble(name: str, words: str, phase: Phase, **more: Any) -> Outage:
    """An outage of the single origin."""
    return Outage(name, words, lambda rig: rig.single.becomes(phase), lambda rig: rig.single.becomes(WELL), **more)


def own(name: str, words: str, begin: Act, end: Act) -> Outage:
    """An outage of the gateway itself."""
    return Outage(name, words, begin, end, path="/fixed", rate=5)


OUTAGES = [
    trouble("a destination is down", "requests fail", DOWN),
    trouble("it is slow", "is slow: half", replace(WELL, service=1.5)),
    trouble("it is overloaded", "load control refuses", Phase(service=0.02), rate=200, patience=0.5),
    trouble("a retry storm", "want a retry", replace(WELL, failing=0.5), path="/retried"),
    Outage(
        "one endpoint is out",
        "1 of 3 endpoints is out",
        lambda rig: rig.several[1].becomes(DOWN),
        lambda rig: rig.several[1].becomes(WELL),
        path="/several",
    ),
    Outage(
        "a name is gone",
        "can't be looked up",
        lambda rig: rig.names.say("another.test", "127.0.0.1"),
        lambda rig: rig.names.say("found.test", "127.0.0.1"),
        path="/found",
    ),
    trouble("it limits", "with 429", replace(WELL, status=429)),
    trouble("callers leave", "of callers leave", replace(WELL, service=0.3), patience=0.1),
    own("a certificate ends", "the certificate of", lambda rig: rig.renew(days=1), lambda rig: rig.renew(days=90)),
    own(
        "a file is refused",
        "the last reload was refused",
        lambda rig: rig.write("routes: 1\n"),
        lambda rig: rig.write(rig.config),
    ),
    own("a loop is busy", "an event loop is busy", Rig.stumble, Rig.walk),
    own(
        "descriptors are used up",
        "file descriptors are in use",
        lambda rig: rig.limit(rig.gateway.descriptors() + 2),
        lambda rig: rig.limit(1024),
    ),
]


@row("outages", f"12 outages: each has its sentence within {SHOWN} s and loses it within {GONE} s")
async def outages(place: Place) -> list[Bar]:
    here = await rig(place)
    bars = []
    for one in OUTAGES:
        if (found := await here.is_well())[0] is None:
            raise Failure(f"before {one.name}: {found[1]}")
        callers = steady(here.gateway.address, one.rate, path=one.path, patience=one.patience).begin()
        # Load control knows the usual time only after a while of good answers.
        await asyncio.sleep(6)
        await act(one.begin, here)
        shown, told = await here.until(SHOWN, lambda told: any(one.words in sentence for sentence in told))
        place.notes.append(f"{one.name}: {told}")
        await act(one.end, here)
        gone, rest = await here.is_well()
        await callers.stop()
        times = [f"{time:.1f} s" if time is not None else "never" for time in (shown, gone)]
        bars.append(Bar(f"{one.name}: shown {times[0]}, gone {times[1]}", shown is not None and gone is not None))
        if rest:
            place.notes.append(f"{one.name}, afterwards: {rest}")
    return bars


async def act(step: Act, rig: Rig) -> None:
    if acting := step(rig):
        await acting


@row("healthy", f"160 requests/s that are well: no sentence in {HEALTHY} s")
async def healthy(place: Place) -> list[Bar]:
    here = await rig(place)
    told: list[str] = []
    paths = ("/single", "/several", "/found", "/fixed")
    callers = [steady(here.gateway.address, 40, path=path, patience=10).begin() for path in paths]
    until = time.monotonic() + HEALTHY
    while time.monotonic() < until:
        told += await here.problems()
        await asyncio.sleep(1)
    for one in callers:
        await one.stop()
    place.notes += sorted(set(told))
    return [Bar(f"{len(told)} sentences in {HEALTHY} s", not told)]
