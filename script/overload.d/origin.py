"""An origin that follows a plan, as a process of its own. It prints that it listens, then each second how many requests
came, the longest queue, and how late it was.

    origin.py PORT SEED PLAN

The plan is a JSON list of phases. Its clock begins with the order `begin TIME` on standard input, a time of the
monotonic clock.
"""

import asyncio
import json
import sys

import child
from models import REFUSES, Model, Phase


class Origin:
    def __init__(self, port: int, phases: list[Phase], seed: int) -> None:
        self.port = port
        self.phases = phases[1:]
        self.model = Model(phases[0], seed)
        self.loop = asyncio.get_running_loop()
        self.zero = self.loop.time()
        self.timer: asyncio.TimerHandle | None = None
        self.server: asyncio.Server | None = None
        self.connections: set[Connection] = set()
        self.attempts = 0
        self.queue = 0
        self.late = 0.0

    def begin(self, time: str) -> None:
        self.zero = float(time)
        for phase in self.phases:
            self.loop.call_at(self.zero + phase.at, self.go_on)

    def take(self) -> dict[str, object]:
        """The counts since the last call."""
        taken = {"attempts": self.attempts, "queue": self.queue, "late": [round(self.late, 4)]}
        self.attempts, self.queue, self.late = 0, 0, 0.0
        return taken

    async def listen(self) -> None:
        if not self.server:
            self.server = await self.loop.create_server(
                lambda: Connection(self), "127.0.0.1", self.port, backlog=4096, reuse_address=True
            )

    def close(self) -> None:
        if self.server:
            self.server.close()
            self.server = None
        for connection in list(self.connections):
            connection.transport.abort()

    def asked(self, connection: "Connection") -> None:
        self.attempts += 1
        self.model.arrive(self.go_on(), connection)
        self.queue = max(self.queue, len(self.model))
        self.set_timer()

    def go_on(self) -> float:
        """Does all that is due, and returns the model's time."""
        now = self.loop.time() - self.zero
        while self.phases and self.phases[0].at <= now:
            phase = self.phases.pop(0)
            self.answer(phase.at, now)
            self.model.change(phase)
            if phase.state == REFUSES:
                self.close()
            else:
                self.listening = self.loop.create_task(self.listen())
        self.answer(now, now)
        self.set_timer()
        return now

    def answer(self, until: float, now: float) -> None:
        for at, connection, status in self.model.advance(until):
            self.late = max(self.late, now - at)
            assert isinstance(connection, Connection)
            connection.send(status)

    def set_timer(self) -> None:
        if self.timer:
            self.timer.cancel()
        end = self.model.next_end()
        self.timer = None if end is None else self.loop.call_at(self.zero + end, self.go_on)


class Connection(asyncio.Protocol):
    """Requests without a body, one after the other."""

    RESPONSES = {
        status: f"HTTP/1.1 {status} {reason}\r\nX-Origin: 1\r\nContent-Length: {len(reason)}\r\n\r\n{reason}".encode()
        for status, reason in ((200, "OK"), (429, "Too Many Requests"), (503, "Service Unavailable"))
    }

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.origin.connections.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.origin.connections.discard(self)

    def data_received(self, data: bytes) -> None:
        self.received += data
        while b"\r\n\r\n" in self.received:
            _, self.received = self.received.split(b"\r\n\r\n", 1)
            self.origin.asked(self)

    def send(self, status: int) -> None:
        if not self.transport.is_closing():
            self.transport.write(self.RESPONSES[status])


async def main(port: str, seed: str, plan: str) -> None:
    origin = Origin(int(port), [Phase(**phase) for phase in json.loads(plan)], int(seed))
    await origin.listen()
    child.tell(listens=True)
    await child.serve(origin.take, {"begin": origin.begin})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
