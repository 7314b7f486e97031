"""An endpoint that obeys: `well` answers, `fails` answers 503, `hangs` reads and never answers, `resets` breaks each
connection at its first byte, `dead` does not listen."""

import asyncio
import socket
import struct
import sys

from child import serve, tell


class Origin:
    def __init__(self, port: int) -> None:
        self.port = port
        self.kind = "well"
        self.listener: asyncio.Server | None = None
        self.connections: set[asyncio.StreamWriter] = set()
        self.answered = 0

    def becomes(self, kind: str) -> None:
        self.kind = kind
        for writer in list(self.connections):
            if kind in ("dead", "resets"):
                self.reset(writer)
        asyncio.ensure_future(self.listens(kind != "dead"))

    async def listens(self, wanted: bool) -> None:
        if wanted and not self.listener:
            self.listener = await asyncio.start_server(self.serve, "127.0.0.1", self.port, backlog=1024)
        elif not wanted and self.listener:
            self.listener.close()
            self.listener = None

    def reset(self, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("socket")
        if peer:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.add(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self.answer(head, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections.discard(writer)
            writer.close()

    async def answer(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        body = head.split(b" ", 2)[1]
        while self.kind == "hangs":
            await asyncio.sleep(0.05)
        if self.kind in ("resets", "dead"):
            self.reset(writer)
            raise ConnectionError
        status = b"503 Service Unavailable" if self.kind == "fails" else b"200 OK"
        self.answered += 1
        writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        await writer.drain()


async def main() -> None:
    origin = Origin(int(sys.argv[1]))
    await origin.listens(True)
    tell(ready=True)
    await serve(lambda: {"answered": origin.answered}, {"becomes": origin.becomes})


asyncio.run(main())
