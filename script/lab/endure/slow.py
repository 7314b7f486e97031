"""Slow clients: readers that take little, readers that take nothing, and slow ones of every kind in crowds."""

import asyncio
from typing import Any

from lab.endure.rows import Bar, row
from lab.gateway import Gateway
from lab.load import count, quantile, steady
from lab.processes import Place, Process, free_port
from lab.servers import nginx
from lab.tls import Pair, any_certificate

READERS, SECONDS = 1200, 30
MANY, MANY_MIB = 1000, 100
"""Readers of 1 GiB each, and what the gateway may have in memory for them."""
PAUSED, PAUSE, PAUSE_SPENT = 200, 2, 0.02
LORIS, LORIS_SECONDS = 2000, 20
PACE = 0.1
"""Seconds between two questions of the good client, and the longest that 99 % of the answers may take."""
SPIN = 0.5
"""The share of a processor that a gateway may use on a crowd that does nothing but dawdle."""
FILES = {"ten": 10 << 20, "giga": 1 << 30}

WRITE = "timeouts: { write: 10m, header: 10m }"
"""Longer than a row, so that only those are reset for which there is no room."""


async def origin(place: Place) -> int:
    files = place.directory / "files"
    files.mkdir()
    for name, size in FILES.items():
        with (files / name).open("wb") as file:
            file.truncate(size)
    port = free_port()
    # Otherwise its sockets take all the memory that the system has for TCP, and the system resets connections.
    await nginx(place, [port], listening="sndbuf=128k")
    return port


async def gateway(place: Place, port: int, connections: int, listener: str = WRITE, name: str = "weir") -> Gateway:
    config = f"""listeners:
  - {{ name: edge, address: "127.0.0.1:{free_port()}", connections: 4096, {listener} }}
upstreams:
  - {{ name: origin, endpoints: ["127.0.0.1:{port}"], connections: {connections} }}
routes: [{{ name: all, upstream: origin, timeout: 10m }}]
"""
    return await Gateway.start(place, config, name=name)


async def come(place: Place, address: str, kind: str, count: int, path: str = "/", *more: str) -> Process:
    """Slow clients in a process of their own."""
    return await place.child(f"{kind}-{len(place.started)}", "endure.slowly", address, kind, count, path, *more)


async def told(crowd: Process) -> tuple[int, int]:
    """How many are open, and how many were closed."""
    crowd.order("tell")
    facts = await asyncio.wait_for(anext(crowd.facts()), 60)
    return facts["open"], facts["closed"]


async def good(title: str, address: str, seconds: float, **tls: Any) -> list[Bar]:
    """A client that reads, and asks at a pace over new connections."""
    client = steady(address, 1 / PACE, fields="Connection: close\r\n", **tls).begin()
    await asyncio.sleep(seconds)
    await client.end()
    late = quantile((call.took for call in client.calls), 0.99) or 0
    bad = count(client.calls, lambda call: not call.good)
    return [
        Bar(f"{title}: p99 {late * 1000:.0f} ms", late <= PACE),
        Bar(f"{bad} of {len(client.calls)} failed", bad == 0),
    ]


@row(
    "slow-readers",
    f"{READERS} clients that take 1 KiB/s: p99 of a good one <= {PACE * 1000:.0f} ms, none reset with room for all, with 512 only "
    f"those beyond; {MANY} readers of 1 GiB: <= {MANY_MIB} MiB",
    before="waits 11 s, 537 upstream connections held",
)
async def slow_readers(place: Place) -> list[Bar]:
    port = await origin(place)
    roomy = await gateway(place, port, 1300, name="roomy")
    readers = await come(place, roomy.address, "reader", READERS, "/files/ten")
    bars = [*await good(f"beside {READERS}", roomy.address, SECONDS), *await reset(roomy, readers, 0, READERS)]
    await readers.end()

    before = roomy.resident()
    readers = await come(place, roomy.address, "reader", MANY, "/files/giga")
    most = 0
    for _ in range(SECONDS):
        await asyncio.sleep(1)
        most = max(most, roomy.resident())
    bars.append(Bar(f"{MANY} of 1 GiB: {most / 1024:.1f} MiB", most <= MANY_MIB * 1024))
    place.notes.append(f"before them {before / 1024:.1f} MiB; {await told(readers)} open and closed")
    await readers.end()

    narrow = await gateway(place, port, 512, name="narrow")
    readers = await come(place, narrow.address, "reader", READERS, "/files/ten")
    return [
        *bars,
        *await good("with 512", narrow.address, SECONDS),
        *await reset(narrow, readers, READERS - 512, READERS),
    ]


async def reset(gateway: Gateway, crowd: Process, expected: int, clients: int) -> list[Bar]:
    """Those that the gateway has reset, by its own count and by theirs."""
    page = await gateway.page()
    counted = page.sum("weir_listener_connections_closed_total", reason="slow_read")
    stay, closed = await told(crowd)
    right = counted == closed == expected and stay == clients - expected
    return [Bar(f"{counted:.0f} reset, {closed} by their count, of {clients}", right)]


@row("idle-pause", f"{PAUSED} clients that read nothing: <= {PAUSE_SPENT} s CPU in {PAUSE} s", before="0.59 s CPU")
async def idle_pause(place: Place) -> list[Bar]:
    port = await origin(place)
    weir = await gateway(place, port, 512)
    readers = await come(place, weir.address, "pause", PAUSED, "/files/giga")
    await asyncio.sleep(3)
    spent = weir.processor_time()
    await asyncio.sleep(PAUSE)
    spent = weir.processor_time() - spent
    stay, closed = await told(readers)
    return [
        Bar(f"{spent:.2f} s CPU", spent <= PAUSE_SPENT),
        Bar(f"{stay} of {PAUSED} stay", stay == PAUSED and closed == 0),
    ]


@row(
    "slowloris",
    f"{LORIS} slow clients of each kind: p99 of a good one <= {PACE * 1000:.0f} ms, <= {SPIN * 100:.0f} % CPU",
    before="not measured",
)
async def slowloris(place: Place) -> list[Bar]:
    port = await origin(place)
    pair = await Pair(place.directory).make()
    bars: list[Bar] = []
    for title, kinds, path, tls in (
        ("head", ["head"], "/", False),
        ("body", ["body"], "/", False),
        ("read", ["pause", "sip"], "/files/giga", False),
        ("handshake", ["handshake"], "/", True),
    ):
        listener = "timeouts: {}" + (f", tls: {pair.listener}" if tls else "")
        weir = await gateway(place, port, 512, listener, name=f"weir-{title}")
        crowds = [await come(place, weir.address, kind, LORIS // len(kinds), path, "again") for kind in kinds]
        await asyncio.sleep(1)
        spent = weir.processor_time()
        secure = {"ssl": any_certificate(), "server_hostname": "endure"} if tls else {}
        bars += await good(title, weir.address, LORIS_SECONDS, **secure)
        weir.process.check()
        share = (weir.processor_time() - spent) / LORIS_SECONDS
        bars.append(Bar(f"{share * 100:.0f} % CPU", share <= SPIN))
        page = await weir.page()
        place.notes.append(
            f"{title}: {[await told(crowd) for crowd in crowds]} open and closed, {weir.resident() / 1024:.0f} MiB, "
            f"ended by {page.by('reason', 'weir_listener_connections_closed_total')}"
        )
        for crowd in crowds:
            await crowd.end()
        await weir.process.end()
    return bars
