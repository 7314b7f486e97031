"""Proxies that do what a script says, and one that is a proxy and keeps what it was asked for."""

import asyncio
import ssl
import struct
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, ip_address
from typing import Self

from lab.client import BROKEN_OFF, Connection
from lab.credentials.server import Request, request, response
from lab.processes import free_port
from lab.proxies.origin import closed

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""The life of a connection, which is closed afterwards."""
FOREVER = 600
NO_METHOD, BY_NAME, BY_ADDRESS = b"\x05\xff", 3, 1
"""SOCKS: no method is good enough; the type of an address (RFC 1928, section 5)."""


class Scripted:
    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.script, self.tls = script, tls
        self.port = free_port()
        self.connections = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> Self:
        self.server = await asyncio.start_server(self.receive, "127.0.0.1", self.port, backlog=4096, ssl=self.tls)
        return self

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        async with closed(writer):
            await self.script(reader, writer)


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes what comes, and never answers."""
    while await reader.read(65536):
        pass


class Recorder(Scripted):
    """An HTTP proxy and, at the same port, one of SOCKS 5 without methods. All names are those of the loopback."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(self.serve, tls)
        self.asked: list[tuple[str, str]] = []
        """The method and the target of each request; of SOCKS `name` or `address`, and the place."""
        self.credentials: set[str] = set()
        """The values of `Proxy-Authorization`."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        if first == b"\x05":
            return await self.serve_socks(reader, writer)
        while True:
            asked = await request(reader, first)
            first = b""
            self.asked.append((asked.method, asked.path))
            self.credentials |= {asked.fields[name] for name in ("proxy-authorization",) if name in asked.fields}
            if asked.method == "CONNECT":
                return await tunnel(reader, writer, asked.path, b"HTTP/1.1 200 Made\r\n\r\n")
            writer.write(await forwarded(asked))
            await writer.drain()

    async def serve_socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x05\x00")
        place = await socks_place(reader)
        self.asked.append(place)
        await tunnel(reader, writer, place[1], socks_reply(0))


async def forwarded(asked: Request) -> bytes:
    """The origin's answer to a request in absolute form."""
    authority, _, path = asked.path.removeprefix("http://").partition("/")
    origin = Connection(f"127.0.0.1:{port_of(authority)}")
    try:
        answer = await origin.ask(asked.method, f"/{path}", asked.body)
        return response(answer.status, answer.body, "X-Origin: 1\r\n")
    except BROKEN_OFF:
        return response(502)
    finally:
        origin.close()


async def socks_place(reader: asyncio.StreamReader) -> tuple[str, str]:
    """Whether a client asks for a name or an address, and which (RFC 1928, section 4)."""
    kind = (await reader.readexactly(4))[3]
    if kind == BY_NAME:
        name = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    else:
        name = str(ip_address(await reader.readexactly(4 if kind == BY_ADDRESS else 16)))
    (port,) = struct.unpack("!H", await reader.readexactly(2))
    return "name" if kind == BY_NAME else "address", f"{name}:{port}"


def socks_reply(reply: int) -> bytes:
    return bytes([5, reply, 0, BY_ADDRESS]) + IPv4Address(0).packed + b"\x00\x00"


def port_of(authority: str) -> int:
    """
    >>> port_of("[::1]:81"), port_of("a.test")
    (81, 80)
    """
    _, _, port = authority.rpartition("]")[2].partition(":")
    return int(port or 80)


async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, place: str, made: bytes) -> None:
    origin, to_origin = await asyncio.open_connection("127.0.0.1", port_of(place))
    async with closed(to_origin):
        writer.write(made)
        await asyncio.wait(
            [asyncio.create_task(copy(reader, to_origin)), asyncio.create_task(copy(origin, writer))],
            return_when=asyncio.FIRST_COMPLETED,
        )


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async with closed(writer):
        while came := await reader.read(65536):
            writer.write(came)
            await writer.drain()
