"""An origin of limited capacity, as a process of its own. It prints its port, then how many requests came in each
second.

Orders on standard input: `brown-out`, `recover`.
"""

import asyncio
import heapq
import random
from dataclasses import dataclass, field

import child


@dataclass
class Capacity:
    """When each request is answered, and with which status: first come, first served by so many workers.

    A request that would wait too long is refused at once. That is cheap, but not free: the server accepts it, reads it
    and writes an answer, and has no time for others meanwhile. A server that is asked often enough does nothing else.

    >>> capacity = Capacity(workers=1, answer=40, refusal=10, longest_wait=50)
    >>> [capacity.admit(now=0, luck=1) for _ in range(4)]
    [(200, 40), (200, 80), (503, 0), (503, 0)]
    >>> capacity.admit(now=60, luck=1)  # behind two answers and two refusals
    (200, 140)
    >>> capacity.brown_out = True
    >>> capacity.admit(now=1000, luck=0.6), capacity.admit(now=2000, luck=0.4)
    ((200, 1080), (503, 2080))
    """

    workers: int = 1
    # Seconds, or any other unit of time.
    answer: float = 0.04
    refusal: float = 0.002
    longest_wait: float = 0.2
    brown_out: bool = False
    """Half of the answers are 503, and all take twice as long."""
    free: list[float] = field(default_factory=list)
    """A heap of the times from which each worker is free."""

    def __post_init__(self) -> None:
        self.free = [0] * self.workers

    def admit(self, now: float, luck: float) -> tuple[int, float]:
        """The status, and when it is sent. `luck` is a random number from 0 to 1."""
        start = max(now, heapq.heappop(self.free))
        if start - now > self.longest_wait:
            # A request that the queue can't hold never reaches a worker.
            heapq.heappush(self.free, min(start + self.refusal, now + 2 * self.longest_wait))
            return 503, now
        end = start + self.answer * (2 if self.brown_out else 1)
        heapq.heappush(self.free, end)
        return 503 if self.brown_out and luck < 0.5 else 200, end


class Origin:
    """The capacity as an HTTP server."""

    def __init__(self) -> None:
        self.capacity = Capacity()
        self.luck = random.Random(1)
        self.attempts = 0

    def begin_brown_out(self) -> None:
        self.capacity.brown_out = True

    def recover(self) -> None:
        self.capacity.brown_out = False

    def take(self) -> dict[str, object]:
        """The counts since the last call."""
        taken, self.attempts = self.attempts, 0
        return {"attempts": taken}


class Connection(asyncio.Protocol):
    """Requests without a body, one after the other."""

    RESPONSES = {
        200: b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n",
        503: b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nbusy\n",
    }

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while b"\r\n\r\n" in self.received:
            _, self.received = self.received.split(b"\r\n\r\n", 1)
            self.answer()

    def answer(self) -> None:
        loop = asyncio.get_running_loop()
        self.origin.attempts += 1
        status, at = self.origin.capacity.admit(loop.time(), self.origin.luck.random())
        loop.call_at(at, self.send, self.RESPONSES[status])

    def send(self, response: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(response)


async def main() -> None:
    origin = Origin()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(origin), "127.0.0.1", 0, backlog=1024)
    child.tell(port=server.sockets[0].getsockname()[1])
    await child.serve(origin.take, {"brown-out": origin.begin_brown_out, "recover": origin.recover})


if __name__ == "__main__":
    asyncio.run(main())
