"""Many clients: idle ones, and more than there are descriptors."""

import asyncio
import itertools
import resource
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lab.client import BROKEN_OFF
from lab.endure.rows import Bar, row
from lab.gateway import Gateway
from lab.load import Wrk
from lab.models import HANGS, Phase
from lab.origin import Origin
from lab.processes import Failure, Place, Process, free_port
from lab.servers import nginx
from lab.tls import Pair, any_certificate, client_hello

IDLE, ACTIVE = 10_000, 2000
GROUPS = 10
"""The number of groups of active clients, which come one after another: a load generator that opens 2000 TLS connections at once needs
seconds for each of its handshakes."""
CHILDREN = 2
"""Processes that hold the idle clients."""
NEEDED = 16_384
"""Descriptors: the least that this row needs: the gateway has a connection to the upstream beside that of an active client."""
PLAIN_KIB, TLS_KIB = 6, 32

LIMIT = 256
CROWD = 100
"""Clients of each kind and listener."""
QUIET = 4
"""Seconds for which a full gateway is watched."""
CHURN = 5
BUSY = 0.05
FULL = 64
"""Connections of all listeners: about as many as a gateway with these descriptors can have, as it has shares of two workers
and four listeners, for itself, for metrics and for upstreams."""


@row(
    "idle-clients",
    f"{IDLE} idle clients: <= {PLAIN_KIB} KiB each, {TLS_KIB} with TLS; {ACTIVE} active ones beside them lose nothing",
    before="2.9 KiB each over HTTP",
)
async def idle_clients(place: Place) -> list[Bar]:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit < NEEDED:
        raise Failure(f"{IDLE} clients need {NEEDED} descriptors, and ulimit -Hn is {limit}")
    # Those of the children and of wrk are limited by this one's.
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    port = free_port()
    await nginx(place, [port])
    pair = await Pair(place.directory).make()
    bars = []
    for scheme, tls, most in (("http", "", PLAIN_KIB), ("https", f", tls: {pair.listener}", TLS_KIB)):
        settings = "connections: 8192, timeouts: { idle: 1h, handshake: 60s }"
        config = f"""listeners:
  - {{ name: edge, address: "127.0.0.1:{free_port()}", {settings}{tls} }}
routes: [{{ name: all, upstream: "http://127.0.0.1:{port}" }}]
"""
        gateway = await Gateway.start(place, config, name=f"weir-{scheme}")
        bars += await idle_beside_active(place, gateway, scheme, most)
        await gateway.process.end()
    return bars


async def idle_beside_active(place: Place, gateway: Gateway, scheme: str, most: int) -> list[Bar]:
    url = f"{scheme}://{gateway.address}/"
    # Memory that the first requests leave behind is no idle client's.
    await (await Wrk(place, url, 2, connections=8, name=f"first-{scheme}").begin()).end()
    before = gateway.resident()
    began = time.monotonic()
    kind = ["tls"] if scheme == "https" else []
    children = [
        await place.child(f"{scheme}-{number}", "clients", gateway.address, IDLE // CHILDREN, "/", *kind)
        for number in range(CHILDREN)
    ]
    came = await answered(children)
    came_in = time.monotonic() - began
    await asyncio.sleep(2)
    each = (gateway.resident() - before) / IDLE
    active = []
    for number in range(GROUPS):
        wrk = Wrk(place, url, 10 + GROUPS - number, connections=ACTIVE // GROUPS, name=f"active-{scheme}-{number}")
        active.append(await wrk.begin())
        await asyncio.sleep(1)
    loads = [await wrk.end() for wrk in active]
    requests, failed = sum(loaded.requests for loaded in loads), sum(loaded.failed for loaded in loads)
    with_active, page = gateway.resident(), await gateway.page()
    for child in children:
        child.order("again")
    again = await answered(children)
    place.notes.append(
        f"{scheme}: {IDLE} clients came in {came_in:.0f} s; {before / 1024:.1f} MiB before them, with {ACTIVE} active ones "
        f"beside them {with_active / 1024:.1f} MiB; handshakes {page.by('result', 'weir_tls_handshakes_total')}"
    )
    for child in children:
        await child.end()
    return [
        Bar(f"{scheme}: {each:.1f} KiB each", each <= most),
        Bar(f"{failed} of {requests} failed beside them", failed == 0 and requests > ACTIVE),
        Bar(f"{IDLE - came} and {IDLE - again} of the idle ones lost", came == IDLE and again == IDLE),
    ]


async def answered(children: Sequence[Process]) -> int:
    """How many clients of all processes got an answer."""
    facts = [await asyncio.wait_for(anext(child.facts()), 300) for child in children]
    return sum(fact["answered"] for fact in facts)


HALF, AT_WORK = "half handshakes", "at work"
KINDS = {
    HALF: b"",
    "half heads": b"GET /slowly HTTP/1.1\r\nHost: end",
    "idle": b"GET / HTTP/1.1\r\nHost: endure\r\n\r\n",
    AT_WORK: b"GET /never HTTP/1.1\r\nHost: endure\r\n\r\n",
}
"""The bytes that clients send over a connection that they have opened. The upstream never answers those at work."""


class Door:
    """A listener of `descriptors`, as its clients see it."""

    def __init__(self, name: str, tls: str = "", proxy: bool = False) -> None:
        self.name = name
        self.port = free_port()
        self.tls: dict[str, Any] = {}
        if tls:
            self.tls = {"ssl": any_certificate(), "server_hostname": "endure", "ssl_handshake_timeout": 600}
        self.header = b"PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n" if proxy else b""
        more = (f", tls: {tls}" if tls else "") + (", proxyProtocol: true" if proxy else "")
        # Longer than the row, so that all stay as long as they want to.
        timeouts = "{ handshake: 10m, header: 10m, idle: 10m }"
        self.config = f'  - {{ name: {name}, address: "127.0.0.1:{self.port}", timeouts: {timeouts}{more} }}\n'

    async def come(self, kind: str) -> None:
        """A client that the gateway may send away at any time. Those at work come again, until nearly all connections are at
        work, and further clients wait to be accepted."""
        while True:
            with suppress(*BROKEN_OFF):
                await self.send(kind)
            if kind != AT_WORK:
                return
            await asyncio.sleep(0.5)

    async def send(self, kind: str, text: bytes = b"") -> bytes:
        """Stays until the gateway closes the connection. Returns the beginning of its answers."""
        tls, sent = self.tls, self.header + (text or KINDS[kind])
        if kind == HALF:
            # With TLS or a PROXY header half of it; otherwise a connection without a byte.
            tls, sent = {}, (self.header or (client_hello() if self.tls else b""))[:20]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, **tls)
        try:
            writer.write(sent)
            answer = b""
            while octets := await reader.read(4096):
                answer = answer or octets
            return answer
        finally:
            writer.transport.abort()

    async def is_served(self) -> bool:
        answer = await self.send("", b"GET / HTTP/1.1\r\nHost: endure\r\nConnection: close\r\n\r\n")
        return answer.startswith(b"HTTP/1.1 200 ")


async def leave(crowd: set[asyncio.Task[None]]) -> None:
    for client in crowd:
        client.cancel()
    await asyncio.gather(*crowd, return_exceptions=True)


@row(
    "descriptors",
    f"ulimit -n {LIMIT}, four listeners, {CROWD} clients of each kind at each: <= {BUSY * 100:.0f} % CPU, all served afterwards",
    before="accepts wait",
)
async def descriptors(place: Place) -> list[Bar]:
    port = free_port()
    await nginx(place, [port])
    silent = await Origin(Phase(state=HANGS)).start()
    pair = await Pair(place.directory).make()
    doors = [Door("plain"), Door("proxied", proxy=True), Door("tls", pair.listener), Door("tls-too", pair.listener)]
    config = f"""listeners:
{"".join(door.config for door in doors)}routes:
  - {{ name: never, match: {{ path: /never }}, upstream: "http://{silent.address}", timeout: 10m, overload: off }}
  - {{ name: all, upstream: "http://127.0.0.1:{port}" }}
"""
    gateway = await Gateway.start(place, config, under=("prlimit", f"--nofile={LIMIT}:{LIMIT}"))
    crowd: set[asyncio.Task[None]] = set()

    def add(door: Door, kind: str) -> asyncio.Task[None]:
        client = asyncio.create_task(door.come(kind))
        crowd.add(client)
        client.add_done_callback(crowd.discard)
        return client

    bars = []
    # Those of before stay, as far as the gateway lets them.
    for kind in KINDS:
        for door in doors:
            for _ in range(CROWD):
                add(door, kind)
        await asyncio.sleep(3)
        spent = gateway.processor_time()
        await asyncio.sleep(QUIET)
        share = (gateway.processor_time() - spent) / QUIET
        page = await gateway.page()
        held = page.by("state", "weir_listener_connections")
        full = held["active"] if kind == AT_WORK else sum(held.values())
        bars.append(Bar(f"{kind}: {full:.0f} connections, {share * 100:.1f} % CPU", full >= FULL and share <= BUSY))
        place.notes.append(
            f"{kind}: {len(crowd)} clients hold on, {gateway.descriptors()} descriptors, connections {held}, "
            f"{page.sum('weir_listener_connections_closed_total', reason='evicted'):.0f} sent away so far"
        )
    await leave(set(crowd))
    until = time.monotonic() + CHURN
    clients = itertools.cycle([(door, kind) for kind in KINDS for door in doors])
    came = 0
    while time.monotonic() < until:
        for _ in range(20):
            asyncio.get_running_loop().call_later(0.2, add(*next(clients)).cancel)
            came += 1
        await asyncio.sleep(0.02)
    await leave(set(crowd))
    place.notes.append(f"{came} more came and went, {gateway.descriptors()} descriptors")
    await asyncio.sleep(1)
    gateway.process.check()
    served = [await asyncio.wait_for(door.is_served(), 10) for door in doors for _ in range(5)]
    place.notes.append(f"{gateway.descriptors()} descriptors in the end")
    silent.stop()
    bars.append(Bar(f"then {served.count(True)} of {len(served)} served", all(served)))
    return bars
