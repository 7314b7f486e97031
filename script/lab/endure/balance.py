"""Which endpoint gets a request: dead ones, one that hangs, and weights."""

import asyncio
from collections import Counter

from lab.endure.rows import Bar, row
from lab.gateway import Gateway, Page, flow
from lab.load import GAVE_UP, Request, Wrk, failed, quantile, send, steady
from lab.models import HANGS, Phase
from lab.origin import Origin
from lab.processes import Place, free_port
from lab.servers import Names, nginx

REQUESTS = 10_000
RATE = 200
HANGS_AFTER, GRACE, HANGS_FOR = 5, 5, 30
"""Seconds: until the hang, until callers must not notice it any more, and of the hang."""
PATIENCE = 2
WEIGHED = 100_000


def get_or_post(prefix: str, number: int) -> Request:
    return ("POST", f"/{prefix}", b"body") if number % 2 else ("GET", f"/{prefix}")


@row("dead-endpoint", f"one of ten is dead, {REQUESTS} requests: 0 failed, 0 retries to the dead one")
async def dead_endpoint(place: Place) -> list[Bar]:
    ports = [free_port() for _ in range(10)]
    dead = ports.pop()
    await nginx(place, ports)
    endpoints = flow([f"127.0.0.1:{port}" for port in [*ports, dead]])
    config = f"""upstreams:
  - {{ name: ejects, endpoints: {endpoints} }}
  - {{ name: never, endpoints: {endpoints}, outlier: off }}
routes:
  - {{ name: ejects, match: {{ pathPrefix: /ejects }}, upstream: ejects, retry: {{ limit: 1 }} }}
  - {{ name: never, match: {{ pathPrefix: /never }}, upstream: never, retry: {{ limit: 1 }} }}
"""
    gateway = await Gateway.start(place, config)
    bars = []
    # With ejection the dead one is hardly ever tried; without it, it is all the time.
    for name in ("ejects", "never"):
        counts = await send(gateway.address, REQUESTS, 16, lambda number: get_or_post(name, number))
        await asyncio.sleep(0.5)
        page = await gateway.page()
        failures, again = retries_to_dead(page, name, dead)
        retries = page.sum("weir_retries_total", server_address=name)
        place.notes.append(
            f"{name}: {dict(counts)}; {failures:.0f} attempts failed at the dead one, {retries:.0f} retries, "
            f"refused {page.by('reason', 'weir_retries_denied_total', server_address=name)}"
        )
        bars += [
            Bar(f"{name}: {failed(counts)} of {REQUESTS} failed", failed(counts) == 0),
            Bar(f"{again:.0f} retries of {failures:.0f} failures to the dead one", again == 0 and failures > 0),
        ]
    return bars


def retries_to_dead(page: Page, name: str, dead: int) -> tuple[float, float]:
    """The failures of the dead endpoint, and those of them that were retries. A request whose first attempt failed there
    has more than one attempt, or has failed; so the failures beyond the number of such requests were retries'."""
    failures = page.sum("weir_endpoint_attempts_total", upstream=name, endpoint=f"127.0.0.1:{dead}", result="failure")
    requests = page.sum("weir_request_attempts_count", server_address=name)
    at_once = page.sum("weir_request_attempts_bucket", server_address=name, le="1.0")
    given_up = page.sum("weir_retries_denied_total", server_address=name)
    return failures, failures - (requests - at_once) - given_up


@row(
    "hanging-endpoint",
    f"one of four hangs: {GRACE} s later <= 1 % of the callers leave, 0 shed, the others not throttled",
)
async def hanging_endpoint(place: Place) -> list[Bar]:
    ports = [free_port() for _ in range(3)]
    await nginx(place, ports)
    hanging = await Origin(Phase(service=0)).start()
    config = f"""upstreams:
  - {{ name: four, endpoints: {flow([hanging.address, *(f"127.0.0.1:{port}" for port in ports)])} }}
routes:
  - {{ name: four, upstream: four }}
"""
    gateway = await Gateway.start(place, config)
    troubled = Counter[str]()
    watching = asyncio.ensure_future(watch(gateway, troubled))
    callers = steady(gateway.address, RATE, patience=PATIENCE).begin()
    await asyncio.sleep(HANGS_AFTER)
    hanging.becomes(Phase(state=HANGS))
    await asyncio.sleep(HANGS_FOR)
    await callers.end()
    watching.cancel()
    page = await gateway.page()
    early = [call for call in callers.calls if HANGS_AFTER <= call.due < HANGS_AFTER + GRACE]
    late = [call for call in callers.calls if call.due >= HANGS_AFTER + GRACE]
    left, good = sum(call.status == GAVE_UP for call in late), [call.took for call in late if call.good]
    wrong = len(late) - left - len(good)
    shed, p99 = page.sum("weir_requests_shed_total"), quantile(good, 0.99) or PATIENCE
    place.notes += [
        f"of the first {GRACE} s {sum(call.status == GAVE_UP for call in early)} of {len(early)} left",
        f"attempts {page.by('endpoint', 'weir_endpoint_attempts_total')}, "
        f"ejections {page.by('endpoint', 'weir_endpoint_ejections_total')}, limit {page.sum('weir_concurrency_limit'):.0f}",
    ]
    return [
        Bar(f"{left} of {len(late)} left ({100 * left / len(late):.2f} %)", left <= len(late) / 100),
        Bar(f"{shed:.0f} shed, {wrong} failed", shed == 0 and wrong == 0),
        Bar(
            f"{troubled.total()} times overloaded or silent, p99 of the good {p99 * 1000:.0f} ms",
            not troubled and p99 < 0.1,
        ),
    ]


async def watch(gateway: Gateway, troubled: Counter[str]) -> None:
    """Counts the pages that say that the upstream is overloaded or silent."""
    while True:
        for state, value in (await gateway.page()).by("state", "weir_overload_state").items():
            if value and state != "normal":
                troubled[state] += 1
        await asyncio.sleep(0.5)


@row("weights", f"95:5 of upstreams and of endpoints within 0.5 % of {WEIGHED} requests, eight at once")
async def weights(place: Place) -> list[Bar]:
    ports = [free_port(), free_port()]
    await nginx(place, ports)
    first, second = (f"127.0.0.1:{port}" for port in ports)
    both = f'[{{ address: "{first}", weight: 95 }}, {{ address: "{second}", weight: 5 }}]'
    config = f"""upstreams:
  - {{ name: much, endpoints: {flow([first])} }}
  - {{ name: little, endpoints: {flow([second])} }}
  - {{ name: turns, endpoints: {both}, balance: roundRobin }}
  - {{ name: least, endpoints: {both} }}
routes:
  - {{ name: split, match: {{ pathPrefix: /split }}, upstream: [{{ name: much, weight: 95 }}, {{ name: little, weight: 5 }}] }}
  - {{ name: turns, match: {{ pathPrefix: /turns }}, upstream: turns }}
  - {{ name: least, match: {{ pathPrefix: /least }}, upstream: least }}
"""
    gateway = await Gateway.start(place, config)
    bars = []
    ways = (
        ("split", "two upstreams", ("much", "little")),
        ("turns", "roundRobin", ("turns",)),
        ("least", "leastRequests", ("least",)),
    )
    for path, title, names in ways:
        attempts: Counter[str] = Counter()
        while attempts.total() < WEIGHED:
            loaded = await (await Wrk(place, f"http://{gateway.address}/{path}", 4, connections=8).begin()).end()
            if loaded.failed:
                return [*bars, Bar(f"{title}: {loaded.failed} failed", False)]
            attempts = Counter()
            for name in names:
                attempts.update((await gateway.page()).by("endpoint", "weir_endpoint_attempts_total", upstream=name))
        share = 100 * attempts[second] / attempts.total()
        bars.append(Bar(f"{title}: {share:.2f} % of {attempts.total():.0f}", abs(share - 5) <= 0.5))
    return bars


@row("srv", f"1:3 gives 25 % +- 2 of {REQUESTS} requests, whether one or 16 come at once")
async def srv(place: Place) -> list[Bar]:
    ports = [free_port(), free_port()]
    await nginx(place, ports)
    targets = zip(ports, (1, 3), strict=True)
    records = [f"--srv-host=_http._tcp.pair.test,host.test,{port},0,{weight}" for port, weight in targets]
    server = Names(place, "--host-record=host.test,127.0.0.1", *records)
    await server.start()
    config = f"""upstreams:
  - {{ name: pair, srv: _http._tcp.pair.test, resolve: {{ servers: {flow([server.server])}, family: ipv4 }} }}
routes:
  - {{ name: pair, upstream: pair }}
"""
    gateway = await Gateway.start(place, config)
    bars: list[Bar] = []
    seen = Counter[str]()
    for connections in (1, 16):
        counts = await send(gateway.address, REQUESTS, connections, lambda number: get_or_post("", number))
        attempts = Counter((await gateway.page()).by("endpoint", "weir_endpoint_attempts_total", upstream="pair"))
        since = attempts - seen
        seen = attempts
        share = 100 * since[f"127.0.0.1:{ports[0]}"] / max(1, since.total())
        bars += [
            Bar(f"{connections} at once: {failed(counts)} failed", failed(counts) == 0),
            Bar(f"{share:.2f} % of {since.total():.0f}", abs(share - 25) <= 2 and since.total() == REQUESTS),
        ]
    return bars
