"""Load: wrk, and callers that send counted requests."""

import asyncio
import re
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from processes import Failure
from row import Place


@dataclass
class Loaded:
    requests: int
    failed: int
    output: str


class Wrk:
    """Runs from `begin` to `end`."""

    def __init__(
        self,
        place: Place,
        url: str,
        seconds: float,
        connections: int = 64,
        threads: int = 1,
        fields: Sequence[str] = (),
        name: str = "wrk",
    ) -> None:
        more = [argument for field in fields for argument in ("-H", field)]
        self.command = ("wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds:.0f}s", "--timeout", "10s", *more, url)
        self.place = place
        self.name = name

    async def begin(self) -> "Wrk":
        self.process = await self.place.processes.start(self.name, *self.command)
        return self

    async def stop(self) -> Loaded:
        """Ends it before its time."""
        self.process.process.send_signal(signal.SIGINT)
        return await self.end()

    async def end(self) -> Loaded:
        await self.process.process.wait()
        output = self.process.log.read_text()
        return judge(output)


def judge(output: str) -> Loaded:
    """
    >>> judge("  10 requests in 1s\\n  Socket errors: connect 1, read 2, write 0, timeout 0\\n").failed
    3
    """
    requests = re.search(r"(\d+) requests in", output)
    if not requests:
        raise Failure(f"wrk: {output}")
    errors = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    failed = sum(map(int, errors.groups())) if errors else 0
    return Loaded(int(requests[1]), failed + (int(wrong[1]) if wrong else 0), output)


@dataclass
class Answer:
    status: int
    server: str
    """The address and port of the server that answered."""
    stays: bool
    """Whether the connection does."""


class Connection:
    """A connection to the gateway that is kept, and opened anew where it has to be. Its address has a host and a port, or
    begins with `unix:`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str = "GET", path: str = "/") -> Answer:
        if not self.streams:
            host, _, place = self.address.partition(":")
            opening = asyncio.open_unix_connection(place) if host == "unix" else asyncio.open_connection(host, int(place))
            self.streams = await opening
        reader, writer = self.streams
        body = "Content-Length: 4\r\n\r\nbody" if method == "POST" else "\r\n"
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: endure\r\n{body}".encode())
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            await reader.readexactly(int(fields.get("content-length", 0)))
        except BaseException:
            self.close()
            raise
        answer = Answer(int(head.split(" ", 2)[1]), fields.get("x-server", ""), fields.get("connection") != "close")
        if not answer.stays:
            self.close()
        return answer

    def close(self) -> None:
        if self.streams:
            self.streams[1].close()
        self.streams = None


async def send(address: str, count: int, connections: int, request: Callable[[int], tuple[str, str]]) -> Counter[str]:
    """Sends so many requests, of which `request` gives method and path. Counts statuses, and `broken` ones."""
    counts: Counter[str] = Counter()
    numbers = iter(range(count))

    async def caller() -> None:
        connection = Connection(address)
        for number in numbers:
            try:
                answer = await asyncio.wait_for(connection.ask(*request(number)), 20)
                counts[str(answer.status)] += 1
            except (OSError, asyncio.IncompleteReadError):
                counts["broken"] += 1
        connection.close()

    await asyncio.gather(*(caller() for _ in range(connections)))
    return counts


def failed(counts: Counter[str]) -> int:
    return counts.total() - counts["200"]
