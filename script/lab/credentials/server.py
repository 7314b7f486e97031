"""A server of HTTP/1.1 in this process, which others give their answers; and a port at which every connection is reset."""

import asyncio
import json
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from lab.processes import free_port

NOW = struct.pack("ii", 1, 0)
"""The option by which a closed connection is reset."""


@dataclass
class Request:
    method: str
    path: str
    fields: dict[str, str]
    """With names in lower case."""
    body: bytes


Answering = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Its connections are kept until an answer closes them."""

    def __init__(self, answer: Answering) -> None:
        self.answer = answer
        self.port = free_port()
        self.open: set[asyncio.StreamWriter] = set()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        self.server = await asyncio.start_server(self.receive, "127.0.0.1", self.port, backlog=4096)

    def stop(self) -> None:
        self.server.close()
        for writer in list(self.open):
            writer.transport.abort()

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        try:
            while not writer.is_closing():
                await self.answer(await request(reader), writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client closed the connection
        finally:
            self.open.discard(writer)
            writer.close()


async def request(reader: asyncio.StreamReader, begun: bytes = b"") -> Request:
    """The next request, of which something may have been read."""
    head = (begun + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    line, *lines = head.rstrip("\r\n").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)}
    method, path, _ = line.split(" ", 2)
    return Request(method, path, fields, await reader.readexactly(int(fields.get("content-length", 0))))


def response(status: int, body: bytes | str = b"", fields: str = "") -> bytes:
    """The fields end with CRLF each.

    >>> response(401, "no", "X-Why: so\\r\\n")
    b'HTTP/1.1 401 Unauthorized\\r\\nX-Why: so\\r\\nContent-Length: 2\\r\\n\\r\\nno'
    """
    content = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{fields}Content-Length: {len(content)}\r\n\r\n"
    return head.encode() + content


def told(status: int, facts: object, fields: str = "") -> bytes:
    """An answer in JSON."""
    return response(status, json.dumps(facts), f"Content-Type: application/json\r\n{fields}")


class Hole:
    """Resets connections, and keeps the times at which they came."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.times: list[float] = []

    async def start(self) -> "Hole":
        self.server = await asyncio.get_running_loop().create_server(
            lambda: Reset(self.times), "127.0.0.1", self.port, reuse_address=True
        )
        return self

    def stop(self) -> None:
        self.server.close()


class Reset(asyncio.Protocol):
    def __init__(self, times: list[float]) -> None:
        self.times = times

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.times.append(time.monotonic())
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOW)
        transport.abort()
