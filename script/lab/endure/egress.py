"""Programs that have the gateway as their proxy: a thousand idle tunnels, and more hosts than state is kept of."""

import asyncio
import resource
from collections.abc import Iterable
from contextlib import suppress

from lab.client import BROKEN_OFF, Connection
from lab.endure.rows import Bar, row
from lab.gateway import Gateway
from lab.processes import Place, free_port
from lab.servers import echo, nginx

TUNNELS = 1000
LIMIT = 8
"""KiB of memory for an idle tunnel."""
SILENCE = 30
"""Seconds after which the gateway closes one."""
NEEDED = 4096
"""Descriptors, of which this process has two for each tunnel."""
AT_ONCE = 20

AUTHORITIES = 1000
"""Those with state."""
STATE = 32
"""KiB of memory for one, with its idle connection."""
SETTLED, LEAK = 10, 1
"""After so many thousands each worker has once had more than its share. From then on the KiB of memory that a host may leave behind."""
ROUNDS = 3
SERIES = 200
"""Destinations with series of their own, by default."""


def configuration(route: str) -> str:
    listener = f'{{ name: egress, address: "127.0.0.1:{free_port()}", connections: 4096, forwardProxy: true }}'
    policy = "destinationPolicy: { otherwise: none, allow: [127.0.0.0/8] }"
    return f"listeners: [{listener}]\nroutes: [{{ name: proxied, {route}, {policy} }}]\n"


class Tunnel:
    @staticmethod
    async def opened(gateway: str, port: int) -> "Tunnel":
        """One through which a few bytes have passed."""
        made = Tunnel()
        host, place = gateway.split(":")
        made.reader, made.writer = await asyncio.open_connection(host, int(place))
        made.writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = await made.reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise ConnectionError(head.decode().strip())
        made.writer.write(b"ping")
        await made.reader.readexactly(4)
        return made

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ends(self) -> None:
        # The gateway may reset it.
        with suppress(ConnectionError):
            await self.reader.read()
        self.writer.close()


async def opened(gateway: str, port: int, count: int) -> list[Tunnel]:
    tunnels = []
    for _ in range(count // AT_ONCE):
        tunnels += await asyncio.gather(*(Tunnel.opened(gateway, port) for _ in range(AT_ONCE)))
    return tunnels


@row("connects", f"{TUNNELS} idle tunnels by CONNECT <= {LIMIT} KiB each, closed for silence")
async def connects(place: Place) -> list[Bar]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(NEEDED, most), most))
    port = free_port()
    server = await asyncio.start_server(echo, "127.0.0.1", port, backlog=AT_ONCE)
    gateway = await Gateway.start(
        place, configuration(f"connect: {{ ports: [{port}], idleTimeout: {SILENCE}s, limit: {2 * TUNNELS} }}")
    )
    # Memory that is allocated once for all is not theirs.
    for tunnel in await opened(gateway.address, port, 2 * AT_ONCE):
        tunnel.writer.write_eof()
        await tunnel.ends()
    before = gateway.resident()
    tunnels = await opened(gateway.address, port, TUNNELS)
    each = (gateway.resident() - before) / TUNNELS
    shown = (await gateway.page()).sum("weir_gateway_open_tunnels")
    async with asyncio.timeout(SILENCE + 60):
        await asyncio.gather(*(tunnel.ends() for tunnel in tunnels))
    server.close()
    page = await gateway.page()
    ends = page.by("outcome", "weir_gateway_tunnels_total", route="proxied")
    return [
        Bar(f"{each:.1f} KiB each", each <= LIMIT),
        Bar(f"{shown:.0f} shown as open", shown == TUNNELS),
        Bar(f"{ends.get('idle', 0):.0f} closed for silence", ends.get("idle") == TUNNELS),
        Bar(f"{ends.get('success', 0):.0f} ended well before", ends.get("success") == 2 * AT_ONCE),
        Bar(f"{page.sum('weir_gateway_open_tunnels'):.0f} open", page.sum("weir_gateway_open_tunnels") == 0),
    ]


@row(
    "authorities",
    f"{AUTHORITIES} hosts <= {STATE} KiB each; {SETTLED} to {2 * SETTLED} thousand leave <= {LEAK} KiB each, 0 failed, {SERIES} with series",
)
async def authorities(place: Place) -> list[Bar]:
    port = free_port()
    await nginx(place, [port])
    gateway = await Gateway.start(place, configuration(f"upstream: {{ requested: {{ ports: [{port}] }} }}"))
    # The first ones make what is there once for all.
    failed = await asked(gateway, port, range(AT_ONCE * 2))
    sizes = [gateway.resident()]
    for number in range(2 * SETTLED):
        first = (number + 1) * AUTHORITIES
        failed += await asked(gateway, port, range(first, first + AUTHORITIES))
        sizes.append(gateway.resident())
    each = (sizes[1] - sizes[0]) / AUTHORITIES
    left = (sizes[-1] - sizes[SETTLED]) / (SETTLED * AUTHORITIES)
    page = await gateway.page()
    named = set(page.by("server_address", "weir_requests_total"))
    answers = page.sum("weir_gateway_requests_total", route="proxied", outcome="success")
    wanted = ROUNDS * (2 * SETTLED * AUTHORITIES + 2 * AT_ONCE)
    place.notes.append(f"MiB after each thousand: {', '.join(f'{size / 1024:.1f}' for size in sizes)}")
    return [
        Bar(f"{each:.1f} KiB each", each <= STATE),
        Bar(f"{left:.2f} KiB of each further one", left <= LEAK),
        Bar(f"{failed} of {wanted} failed", failed == 0 and answers == wanted),
        Bar(f"{len(named)} with series of their own", len(named - {"_other"}) <= SERIES),
    ]


async def asked(gateway: Gateway, port: int, numbers: Iterable[int]) -> int:
    """Asks hosts some times each, over a few connections. Returns how many requests failed."""
    hosts = iter(numbers)

    async def ask() -> int:
        failed, connection = 0, Connection(gateway.address)
        for number in hosts:
            host = f"127.1.{number // 250}.{number % 250 + 1}:{port}"
            for _ in range(ROUNDS):
                try:
                    failed += (await connection.ask(path=f"http://{host}/")).status != 200
                except BROKEN_OFF:
                    failed += 1
        connection.close()
        return failed

    return sum(await asyncio.gather(*(ask() for _ in range(AT_ONCE))))
