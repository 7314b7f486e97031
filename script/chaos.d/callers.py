"""Callers that send one request after another over connections that they keep, and count what became of each."""

import asyncio
import sys
from collections import Counter

from child import serve, tell

PATIENCE = 20
"""Seconds that a caller waits; the route's timeout is far shorter, so that the gateway always answers first."""


class Callers:
    def __init__(self, address: str, count: int) -> None:
        self.host, port = address.split(":")
        self.port = int(port)
        self.count = count
        self.counts: Counter[str] = Counter()
        self.sent = 0
        self.ending = False
        self.running: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        for number in range(self.count):
            task = asyncio.ensure_future(self.call(number))
            self.running.add(task)
            task.add_done_callback(self.ended)

    def ended(self, task: asyncio.Task[None]) -> None:
        self.running.discard(task)
        if not self.running:
            tell(sent=self.sent, counts=self.counts)

    def stop(self) -> None:
        self.ending = True

    async def call(self, number: int) -> None:
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        while not self.ending:
            self.sent += 1
            # Half of the requests are ones that nothing may send twice.
            method, path = ("GET", "POST")[self.sent % 2], f"/{number}-{self.sent}"
            try:
                if not connection:
                    connection = await asyncio.open_connection(self.host, self.port)
                status, body, stays = await asyncio.wait_for(self.ask(connection, method, path), PATIENCE)
                wrong = status == 200 and body != path
                self.counts[f"{method} {'wrong' if wrong else status}"] += 1
            except TimeoutError:
                self.counts[f"{method} none"] += 1
                stays = False
            except (ConnectionError, asyncio.IncompleteReadError):
                self.counts[f"{method} broken"] += 1
                stays = False
            if not stays and connection:
                connection[1].close()
                connection = None

    async def ask(
        self, connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], method: str, path: str
    ) -> tuple[int, str, bool]:
        reader, writer = connection
        length = "Content-Length: 0\r\n" if method == "POST" else ""
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: chaos\r\n{length}\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        return int(head.split(" ", 2)[1]), body.decode(), fields.get("connection") != "close"


async def main() -> None:
    callers = Callers(sys.argv[1], int(sys.argv[2]))
    callers.begin()
    await serve(lambda: {"so_far": callers.sent}, {"stop": callers.stop})


asyncio.run(main())
