"""A thousand tunnels at once: the memory that they take while they are idle, and what passes through them."""

import asyncio
import sys
from pathlib import Path

from lab.endure.rows import Bar, row
from lab.gateway import Gateway
from lab.processes import Failure, Place, Process, free_port
from lab.tls import Pair

TUNNELS = 1000
MEBIBYTES = 100
LIMIT = 32 << 10
"""KiB of memory for idle ones."""
SOCKETS = Path("Tests/Peers/websocket.py")


async def client(place: Place, name: str, *arguments: object) -> Process:
    return await place.start(name, sys.executable, SOCKETS, *arguments)


async def said(process: Process, text: str) -> None:
    await process.until(lambda: text in process.log.read_text(), f"did not say {text!r}", seconds=60)


async def ended(process: Process) -> int:
    return await asyncio.wait_for(process.process.wait(), timeout=300)


@row(
    "tunnels",
    f"{TUNNELS} idle WebSockets <= 32 MiB, to http and to https; as many with messages and pings, and {MEBIBYTES} MiB each way, byte for byte",
)
async def tunnels(place: Place) -> list[Bar]:
    pair = await Pair(place.directory).make()
    plain, secure = free_port(), free_port()
    for name, arguments in (("server", [plain]), ("secure", [secure, pair.certificate, pair.key])):
        await (await client(place, name, "serve", *arguments)).accepts(f"127.0.0.1:{arguments[0]}")
    upgrade = "upgrade: { protocols: [websocket], idleTimeout: 5s }"
    config = f"""routes:
  - {{ name: idle, match: {{ pathPrefix: /idle }}, upstream: "http://127.0.0.1:{plain}", {upgrade} }}
  - {{ name: busy, match: {{ pathPrefix: /busy }}, upstream: "http://127.0.0.1:{plain}", upgrade: [websocket] }}
  - name: secure
    match: {{ pathPrefix: /secure }}
    upstream: {{ url: "https://127.0.0.1:{secure}", tls: {{ ca: {pair.certificate} }} }}
    {upgrade}
"""
    gateway = await Gateway.start(place, config)
    # Memory that is allocated once for all is not theirs.
    for path in ("busy", "secure"):
        first = await client(place, f"first-{path}", "check", f"ws://{gateway.address}/{path}", 10, 1)
        if await ended(first) != 0:
            raise Failure(first.tail())
    bars = []
    for path, kind in (("secure", "to https"), ("idle", "to http")):
        before = gateway.resident()
        idle = await client(place, path, "hold", f"ws://{gateway.address}/{path}", TUNNELS)
        await said(idle, "open")
        memory = gateway.resident() - before
        await said(idle, "ended")
        closed = (await gateway.page()).sum("weir_gateway_tunnels_total", route=path, outcome="idle")
        bars += [
            Bar(f"{kind} {memory / TUNNELS:.1f} KiB each, {memory / 1024:.1f} MiB", memory <= LIMIT),
            Bar(f"{closed:.0f} closed for silence", closed == TUNNELS),
        ]
    busy = await client(place, "busy", "check", f"ws://{gateway.address}/busy", TUNNELS, MEBIBYTES)
    status = await ended(busy)
    page = await gateway.page()
    whole = page.sum("weir_gateway_tunnels_total", route="busy", outcome="success")
    open_now = page.sum("weir_gateway_open_tunnels")
    return [
        *bars,
        Bar(f"messages {'whole' if status == 0 else busy.tail()}", status == 0),
        Bar(f"{whole:.0f} ended well, {open_now:.0f} open", whole == TUNNELS + 12 and open_now == 0),
    ]
