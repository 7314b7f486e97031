"""The HTTP origin behind gateways, which answers as a model says. As a process of its own, whose clock begins with the order
`begin TIME` on standard input, a time of the monotonic clock, it follows a plan, which is a JSON list of phases:

    python -m lab.origin PORT SEED PLAN

It tells that it listens, then each second how many requests came, the longest queue, and how late it was."""

import asyncio
import json
import socket
import struct
import sys
from dataclasses import replace
from typing import NamedTuple

from lab.models import REFUSES, RESETS, Phase
from lab.processes import free_port, obey, tell

REASONS = {200: "OK", 429: "Too Many Requests", 503: "Service Unavailable"}


class Request(NamedTuple):
    connection: "Connection"
    path: bytes


class Origin:
    """The body of each answer is the request's path."""

    def __init__(self, phase: Phase = Phase(), port: int = 0, seed: int = 1) -> None:
        # One that no connection gets while it is closed.
        self.port = port or free_port()
        self.state = phase.state
        self.model = phase.model(seed)
        self.plan: list[Phase] = []
        """The phases to come."""
        self.loop = asyncio.get_running_loop()
        self.zero = self.loop.time()
        """The time of the loop at which the model's begins."""
        self.timer: asyncio.TimerHandle | None = None
        self.server: asyncio.Server | None = None
        self.connections: set[Connection] = set()
        self.attempts = 0
        self.queue = 0
        self.late = 0.0

    async def start(self) -> "Origin":
        if not self.server:
            self.server = await self.loop.create_server(
                lambda: Connection(self), "127.0.0.1", self.port, backlog=4096, reuse_address=True
            )
        return self

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        if self.server:
            self.server.close()
            self.server = None
        for connection in list(self.connections):
            connection.transport.abort()

    def becomes(self, phase: Phase) -> None:
        self.change(replace(phase, at=self.go_on()))
        self.set_timer()

    def follow(self, plan: list[Phase], zero: float) -> None:
        self.zero, self.plan = zero, plan
        for phase in plan:
            self.loop.call_at(zero + phase.at, self.go_on)

    def asked(self, request: Request) -> None:
        self.attempts += 1
        if self.state == RESETS:
            return request.connection.reset()
        self.model.arrive(self.go_on(), request)
        self.queue = max(self.queue, len(self.model))
        self.set_timer()

    def go_on(self) -> float:
        """Does all that is due, and returns the model's time."""
        now = self.loop.time() - self.zero
        while self.plan and self.plan[0].at <= now:
            phase = self.plan.pop(0)
            self.answer(phase.at, now)
            self.change(phase)
        self.answer(now, now)
        self.set_timer()
        return now

    def change(self, phase: Phase) -> None:
        self.state = phase.state
        self.model.change(phase)
        if phase.state == REFUSES:
            self.stop()
        else:
            self.listening = self.loop.create_task(self.start())
        if phase.state == RESETS:
            for connection in list(self.connections):
                connection.reset()

    def answer(self, until: float, now: float) -> None:
        for at, request, status in self.model.advance(until):
            self.late = max(self.late, now - at)
            assert isinstance(request, Request)
            request.connection.send(status, request.path)

    def set_timer(self) -> None:
        if self.timer:
            self.timer.cancel()
        end = self.model.next_end()
        self.timer = None if end is None else self.loop.call_at(self.zero + end, self.go_on)

    def take(self) -> dict[str, object]:
        """The counts since the last call."""
        taken: dict[str, object] = {"attempts": self.attempts, "queue": self.queue, "late": [round(self.late, 4)]}
        self.attempts, self.queue, self.late = 0, 0, 0.0
        return taken


class Connection(asyncio.Protocol):
    """Requests without a body, one after the other."""

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
            head, self.received = self.received.split(b"\r\n\r\n", 1)
            self.origin.asked(Request(self, head.split(b" ", 2)[1]))

    def send(self, status: int, body: bytes) -> None:
        if not self.transport.is_closing():
            head = f"HTTP/1.1 {status} {REASONS[status]}\r\nX-Origin: 1\r\nContent-Length: {len(body)}\r\n\r\n"
            self.transport.write(head.encode() + body)

    def reset(self) -> None:
        closed = struct.pack("ii", 1, 0)
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, closed)
        self.transport.abort()


async def main(port: str, seed: str, plan: str) -> None:
    first, *phases = [Phase(**phase) for phase in json.loads(plan)]
    origin = await Origin(first, int(port), int(seed)).start()
    tell(listens=True)
    await obey(origin.take, {"begin": lambda time: origin.follow(phases, float(time))})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
