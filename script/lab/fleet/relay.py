"""The way from a Prometheus to an instance, which can be cut."""

import asyncio

from lab.processes import free_port


class Relay:
    """Passes connections on. Cut, it refuses them, or takes them and passes nothing on, as a firewall does."""

    def __init__(self, host: str, port: int) -> None:
        self.target = host, port
        self.port = free_port()
        self.server: asyncio.Server | None = None
        self.writers: set[asyncio.StreamWriter] = set()
        self.flowing = asyncio.Event()

    async def open(self) -> None:
        self.flowing.set()
        if not self.server:
            self.server = await asyncio.start_server(self.accept, "127.0.0.1", self.port)

    def refuse(self) -> None:
        if self.server:
            self.server.close()
            self.server = None
        for writer in list(self.writers):
            writer.transport.abort()

    def hang(self) -> None:
        self.flowing.clear()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.flowing.wait()
            upstream, onward = await asyncio.open_connection(*self.target)
        except OSError:  # the instance is gone
            writer.close()
            return
        await asyncio.gather(self.pass_on(reader, onward), self.pass_on(upstream, writer))

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            while octets := await reader.read(1 << 16):
                await self.flowing.wait()
                writer.write(octets)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.writers.discard(writer)
            writer.close()
