"""The HTTP client of all callers: one connection, several of them, and a single GET."""

import asyncio
import urllib.request
from dataclasses import dataclass
from typing import Any

# A TimeoutError is an OSError.
BROKEN_OFF = (OSError, asyncio.IncompleteReadError)
"""The errors of a request that has no answer."""


@dataclass
class Answer:
    status: int
    fields: dict[str, str]
    """With names in lower case."""
    body: bytes


class Connection:
    """A connection that is kept, and opened anew where it has to be. Its address has a host and a port, or begins with
    `unix:`. `tls` are arguments of `asyncio.open_connection`."""

    def __init__(self, address: str, **tls: Any) -> None:
        self.address = address
        self.host = "localhost" if address.startswith("unix:") else address
        self.tls = tls
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def is_open(self) -> bool:
        return self.streams is not None and not self.streams[0].at_eof() and not self.streams[1].is_closing()

    async def ask(self, method: str = "GET", path: str = "/", body: bytes = b"", fields: str = "") -> Answer:
        """Only a POST has a body. The fields end with CRLF each."""
        if not self.streams:
            host, _, place = self.address.partition(":")
            if host == "unix":
                self.streams = await asyncio.open_unix_connection(place)
            else:
                self.streams = await asyncio.open_connection(host, int(place), **self.tls)
        reader, writer = self.streams
        length = f"Content-Length: {len(body)}\r\n" if method == "POST" else ""
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\n{fields}{length}\r\n".encode() + body)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status, *lines = head.rstrip("\r\n").split("\r\n")
            found = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            answer = Answer(
                int(status.split()[1]), found, await reader.readexactly(int(found.get("content-length", 0)))
            )
        except BaseException:
            self.close()
            raise
        if found.get("connection", "").lower() == "close":
            self.close()
        return answer

    def close(self) -> None:
        if self.streams:
            self.streams[1].transport.abort()
        self.streams = None


class Pool:
    """The connections of many callers to one address."""

    def __init__(self, address: str, **tls: Any) -> None:
        self.address = address
        self.tls = tls
        self.idle: list[Connection] = []

    async def ask(self, path: str = "/", fields: str = "", method: str = "GET", body: bytes = b"") -> Answer:
        connection = self.take()
        answer = await connection.ask(method, path, body, fields)
        if connection.is_open:
            self.idle.append(connection)
        return answer

    def take(self) -> Connection:
        """The connection that was used last and is still open, or a new one."""
        while self.idle:
            connection = self.idle.pop()
            if connection.is_open:
                return connection
            connection.close()
        return Connection(self.address, **self.tls)

    def close(self) -> None:
        for connection in self.idle:
            connection.close()


async def get(url: str) -> bytes:
    def fetch() -> bytes:
        with urllib.request.urlopen(url, timeout=60) as response:
            return bytes(response.read())

    return await asyncio.to_thread(fetch)
