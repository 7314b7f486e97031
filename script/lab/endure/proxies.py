"""A proxy that dies under load and comes back, again and again."""

import asyncio
import json
import signal
import time

from lab.endure.rows import Bar, row
from lab.gateway import Gateway
from lab.load import Call, count, steady
from lab.processes import Place, Process, free_port
from lab.proxies.daemons import OPEN, squid
from lab.proxies.origin import Origin
from lab.proxies.ways import HOST, server_context
from lab.tls import Pair

ROUNDS, UP, DOWN = 10, 5, 3
"""Seconds that the proxy is up and down in each round."""
RATE = 50
"""Requests per second of each kind."""
SLACK = 0.25
"""Seconds from the end of an outage until no request may fail."""
LATE = 2
"""Requests that may fail in another way, for each outage: those that were under way when it began."""
KIB, DESCRIPTORS = 4096, 4
"""By which memory and descriptors may be more after the last outage than after the first."""


class Outages:
    """A squid that is killed, and started at its ports again."""

    def __init__(self, place: Place, pair: Pair) -> None:
        self.place, self.pair = place, pair
        self.port = free_port()
        self.times: list[tuple[float, float]] = []

    process: Process

    async def start(self) -> None:
        self.process = await squid(self.place, self.pair, {OPEN: self.port}, {})

    async def outage(self) -> None:
        began = time.monotonic()
        await self.process.end(signal.SIGKILL)
        await asyncio.sleep(DOWN)
        await self.start()
        self.times.append((began, time.monotonic()))

    def is_down(self, begin: float, end: float) -> bool:
        """Whether there was an outage in this time."""
        return any(begin <= until + SLACK and end >= since for since, until in self.times)


@row(
    "proxy-dies",
    f"{ROUNDS} times a proxy is killed under load: requests fail only while it is down, as proxy_*, no endpoint is blamed, nothing leaks",
)
async def proxy_dies(place: Place) -> list[Bar]:
    pair = await Pair(place.directory, host=HOST).make()
    plain, secure = await Origin().start(), await Origin(server_context(pair)).start()
    outages = Outages(place, pair)
    await outages.start()
    gateway = await Gateway.start(place, config(pair, plain, secure, outages.port))
    loads = {kind: steady(gateway.address, RATE, path=f"/{kind}").begin() for kind in ("http", "https")}
    used: list[tuple[int, int]] = []
    for _ in range(ROUNDS):
        await asyncio.sleep(UP)
        await outages.outage()
        await asyncio.sleep(UP / 2)
        used.append((gateway.resident(), gateway.descriptors()))
    for load in loads.values():
        await load.end()
    page = await gateway.page()
    labels = page.by("error_type", "http_client_request_duration_seconds_count")
    labels.pop("", None)
    other = sum(number for label, number in labels.items() if not label.startswith("proxy_"))
    ejected = page.sum("weir_endpoint_ejections_total")
    memory, descriptors = (last - first for first, last in zip(used[0], used[-1]))
    place.notes.append(f"failures {labels}; memory and descriptors after each outage {used}")
    return [
        *(judge(kind, [absolute(call, load.zero) for call in load.calls], outages) for kind, load in loads.items()),
        Bar(f"{other:.0f} failures were not the proxy's", other <= LATE * ROUNDS),
        Bar(f"{ejected:.0f} ejections", ejected == 0),
        Bar(
            f"{memory / 1024:+.1f} MiB and {descriptors:+} descriptors since the first outage",
            memory <= KIB and descriptors <= DESCRIPTORS,
        ),
    ]


def config(pair: Pair, plain: Origin, secure: Origin, port: int) -> str:
    def entry(kind: str, origin: Origin) -> dict[str, object]:
        endpoints = [f"{host}:{origin.port}" for host in ("127.0.0.1", "127.0.0.2")]
        tls = {"tls": {"ca": str(pair.certificate), "serverName": HOST}} if kind == "https" else {}
        # One that is used for a second only, so that tunnels are made all the while.
        return {"name": kind, "scheme": kind, "endpoints": endpoints, "idleTimeout": "1s", "maximumAge": "1s", **tls}

    upstreams = [entry("http", plain), entry("https", secure)]
    routes = [{"name": kind, "match": {"path": f"/{kind}"}, "upstream": kind} for kind in ("http", "https")]
    return json.dumps({"proxy": f"http://127.0.0.1:{port}", "upstreams": upstreams, "routes": routes})


def absolute(call: Call, zero: float) -> Call:
    """With times of the monotonic clock."""
    return call._replace(due=call.due + zero, ended=call.ended + zero)


def judge(kind: str, calls: list[Call], outages: Outages) -> Bar:
    early = count(calls, lambda call: not call.good and not outages.is_down(call.due, call.ended))
    failed = count(calls, lambda call: not call.good)
    statuses = sorted({call.status for call in calls if not call.good})
    text = f"{kind}: {failed} of {len(calls)} failed ({', '.join(map(str, statuses))}), {early} of them while the proxy was up"
    return Bar(text, not early and failed > 0 and set(statuses) <= {502})
