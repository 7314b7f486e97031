"""Runs a gateway before four endpoints that take turns at failing, and judges what its callers got."""

import asyncio
import itertools
import random
import signal
import time
from collections import Counter

from lab import command
from lab.gateway import Gateway, Page, flow
from lab.load import Callers
from lab.models import PAUSES, REFUSES, RESETS, Phase
from lab.origin import Origin
from lab.processes import Place, Process, free_port
from lab.servers import nginx

CALLERS = 16
SHARE = 0.999
"""The good ones among the requests with a method that may be retried."""
BUDGET = {"ratio": 0.2, "minimum": 1, "burst": 10, "window": 10}
"""The defaults of `retryBudget`."""
WELL = Phase(service=0)
FAULTS = {
    "fails": Phase(service=0, failing=1),
    "hangs": Phase(state=PAUSES),
    "resets": Phase(state=RESETS),
    "dead": Phase(state=REFUSES),
}
LONGEST = 3.0
"""Seconds of one fault."""


class Faulty(Origin):
    """One of four endpoints: a fault begins and ends it."""

    def __init__(self, name: str) -> None:
        super().__init__(WELL)
        self.name = name

    async def fault(self, kind: str) -> None:
        self.becomes(FAULTS[kind])

    async def recover(self) -> None:
        self.becomes(WELL)


class Server:
    """nginx or haproxy: a fault stops the process for a while, or kills it."""

    process: Process

    def __init__(self, place: Place, name: str) -> None:
        self.place = place
        self.name = name
        self.port = free_port()

    async def start(self) -> None:
        if self.name == "nginx":
            self.process = await nginx(self.place, [self.port], body="$uri")
        else:
            file = self.place.file("haproxy.conf", haproxys(self.port))
            self.process = await self.place.start("haproxy", "haproxy", "-db", "-f", file)
            await self.process.accepts(f"127.0.0.1:{self.port}")

    async def fault(self, kind: str) -> None:
        if kind == "hangs":
            self.process.process.send_signal(signal.SIGSTOP)
        else:
            await self.process.end(signal.SIGKILL)

    async def recover(self) -> None:
        if self.process.process.returncode is not None:
            await self.start()
        else:
            self.process.process.send_signal(signal.SIGCONT)


def haproxys(port: int) -> str:
    return f"""global
  nbthread 1
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 1s
frontend f
  bind 127.0.0.1:{port}
  http-request return status 200 content-type text/plain lf-string "%[path]"
"""


async def harm(endpoints: list[Faulty | Server], until: float, chance: random.Random) -> None:
    """Two lanes of faults, so that at least two endpoints are well at any time."""
    well = list(endpoints)

    async def lane() -> None:
        while time.monotonic() < until - LONGEST:
            endpoint = well.pop(chance.randrange(len(well)))
            kind = chance.choice(list(FAULTS))
            print(f"{until - time.monotonic():6.1f} s left: {endpoint.name} {kind}", flush=True)
            await endpoint.fault(kind)
            await asyncio.sleep(chance.uniform(0.5, LONGEST))
            await endpoint.recover()
            well.append(endpoint)
            await asyncio.sleep(chance.uniform(0.2, 1.5))

    await asyncio.gather(lane(), lane())


def judge(page: Page, sent: int, ends: dict[str, Counter[str]], seconds: float) -> list[str]:
    """The sentences about what is wrong."""
    wrong = []
    answered = sum(counts.total() for counts in ends.values())
    if answered != sent:
        wrong.append(f"{sent} requests have {answered} ends")
    for kind in ("wrong", "none"):
        wrong += [f"{counts[kind]} answers to {method} are {kind}" for method, counts in ends.items() if counts[kind]]
    gets = ends["GET"].total()
    good = ends["GET"]["200"] / max(1, gets)
    print(f"{good:.5f} of {gets} GETs are good")
    if good < SHARE:
        wrong.append(f"only {good:.5f} of the GETs are good, not {SHARE}")
    counted = page.sum("weir_gateway_requests_total", route="chaos")
    if counted != sent:
        wrong.append(f"the page counts {counted:.0f} requests, the callers {sent}")
    retries = page.sum("weir_retries_total") + page.sum("weir_hedges_total", result="started")
    allowed = BUDGET["ratio"] * sent + BUDGET["minimum"] * (seconds + BUDGET["window"]) + BUDGET["burst"]
    print(f"{retries:.0f} retries of {sent} requests, of at most {allowed:.0f}")
    if retries > allowed:
        wrong.append(f"{retries:.0f} retries exceed their budget of {allowed:.0f}")
    attempts, started = page.sum("weir_endpoint_attempts_total"), page.sum("weir_attempts_started_total")
    print(f"{attempts:.0f} of {started:.0f} attempts have told their endpoints how they went")
    if attempts > started:
        wrong.append(f"endpoints count {attempts:.0f} attempts, of which only {started:.0f} began")
    return wrong


async def run(place: Place, seconds: float, seed: int) -> list[str]:
    endpoints: list[Faulty | Server] = [
        Server(place, "nginx"),
        Server(place, "haproxy"),
        Faulty("faulty-1"),
        Faulty("faulty-2"),
    ]
    for endpoint in endpoints:
        await endpoint.start()
    addresses = flow([f"127.0.0.1:{endpoint.port}" for endpoint in endpoints])
    config = f"""upstreams:
  - name: chaos
    endpoints: {addresses}
    outlier: {{ consecutiveFailures: 3, ejectFor: 1s }}
    check: {{ path: /healthz, interval: 500ms, timeout: 300ms, unhealthyAfter: 2, healthyAfter: 1 }}
    slowStart: 1s
routes:
  - {{ name: chaos, upstream: chaos, timeout: 5s, retry: {{ limit: 1 }}, hedge: {{ after: 300ms }} }}
"""
    gateway = await Gateway.start(place, config)
    began = time.monotonic()

    # Half of the requests are ones that nothing may send twice.
    def calls(method: str) -> Callers:
        requests = ((method, f"/{method}-{number}") for number in itertools.count())
        return Callers(gateway.address, CALLERS // 2, requests, echo=True)

    callers = {method: calls(method) for method in ("GET", "POST")}
    await harm(endpoints, began + seconds, random.Random(seed))
    gateway.process.process.send_signal(signal.SIGHUP)
    await asyncio.sleep(0.5)
    ends = {method: await asyncio.wait_for(some.end(), 30) for method, some in callers.items()}
    await asyncio.sleep(0.5)
    page = await gateway.page()
    place.file("page.txt", page.text)
    answers = {f"{method} {end}": count for method, counts in ends.items() for end, count in counts.items()}
    print(f"answers: {dict(sorted(answers.items()))}")
    gateway.process.check()
    return judge(page, sum(some.sent for some in callers.values()), ends, time.monotonic() - began)


if __name__ == "__main__":
    options = command.options("chaos", __doc__)
    options.add_argument("--short", action="store_true", help="40 seconds, as a test")
    options.add_argument("--seconds", metavar="N", type=float, default=600, help="so long (600)")
    chance = random.SystemRandom().randrange(1 << 32)
    options.add_argument(
        "--seed", metavar="N", type=int, default=chance, help="the faults of a run with that seed, again"
    )
    given = command.parsed(options)
    seconds = 40 if given.short else given.seconds
    print(f"{seconds:.0f} s of faults, --seed {given.seed}", flush=True)
    command.conduct("chaos", given, lambda place: run(place, seconds, given.seed))
