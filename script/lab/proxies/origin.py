"""The origins behind the proxies, which also switch to a protocol of lines."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from lab.client import BROKEN_OFF
from lab.credentials.server import Request, request, response
from lab.processes import free_port

PROTOCOL = "lines"
HELLO, ONCE = b"hello\n", "/once"
"""The first line of the protocol; and the end of paths for which it is also the last one. Otherwise all that comes goes back."""


class Origin:
    """Listens on all loopback addresses. The body of its answers is the request's path."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.tls = tls
        self.port = free_port()
        self.asked: list[Request] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> Self:
        self.server = await asyncio.start_server(self.receive, "0.0.0.0", self.port, backlog=4096, ssl=self.tls)
        return self

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with closed(writer):
            while True:
                asked = await request(reader)
                self.asked.append(asked)
                if "upgrade" in asked.fields:
                    return await switch(asked, reader, writer)
                writer.write(response(200, asked.path, "X-Origin: 1\r\n"))
                await writer.drain()


async def switch(asked: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(f"HTTP/1.1 101 Lines\r\nUpgrade: {PROTOCOL}\r\nConnection: Upgrade\r\n\r\n".encode() + HELLO)
    while not asked.path.endswith(ONCE) and (came := await reader.read(65536)):
        writer.write(came)
        await writer.drain()


@asynccontextmanager
async def closed(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """Closes a connection in the end. It is no failure if the other side does that first."""
    try:
        yield
    except BROKEN_OFF:
        pass
    finally:
        writer.close()
