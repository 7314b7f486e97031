"""Callers of a gateway, as a process of its own: requests at a fixed rate, however long the answers take. It prints
their results in each second.

    callers.py HOST:PORT RATE

Orders on standard input: `pause`, `resume`.
"""

import asyncio
import sys

import child

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Callers:
    def __init__(self, address: str, rate: float) -> None:
        self.host, port = address.split(":")
        self.port = int(port)
        self.rate = rate
        self.paused = False
        self.idle: list[Connection] = []
        self.requests = 0
        self.good = 0
        self.latencies: list[float] = []

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def take(self) -> dict[str, object]:
        """The counts since the last call: requests when sent, answers and latencies when they end."""
        taken = {"requests": self.requests, "good": self.good, "latencies": self.latencies}
        self.requests, self.good, self.latencies = 0, 0, []
        return taken

    async def call_at_rate(self) -> None:
        loop = asyncio.get_running_loop()
        calls: set[asyncio.Task[None]] = set()
        due = loop.time()
        while True:
            if not self.paused:
                call = asyncio.create_task(self.call())
                calls.add(call)
                call.add_done_callback(calls.discard)
            due += 1 / self.rate
            await asyncio.sleep(due - loop.time())

    async def call(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        self.requests += 1
        try:
            async with asyncio.timeout(30):
                status = await self.exchange()
        except (OSError, asyncio.IncompleteReadError):  # a TimeoutError is an OSError
            status = 0
        self.good += status == 200
        self.latencies.append(round(loop.time() - began, 4))

    async def exchange(self) -> int:
        reader, writer = await self.connection()
        try:
            writer.write(f"GET / HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = next((line[15:] for line in head.split("\r\n") if line.startswith("content-length:")), "0")
            await reader.readexactly(int(length))
        except BaseException:
            writer.close()
            raise
        if "connection: close" in head:
            writer.close()
        else:
            self.idle.append((reader, writer))
        return int(head.split(" ", 2)[1])

    async def connection(self) -> Connection:
        """The one used last that is still open, or a new one."""
        while self.idle:
            reader, writer = self.idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(self.host, self.port)


async def main(address: str, rate: float) -> None:
    callers = Callers(address, rate)
    calling = asyncio.create_task(callers.call_at_rate())
    await child.serve(callers.take, {"pause": callers.pause, "resume": callers.resume})
    calling.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
