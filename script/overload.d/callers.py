"""Callers of one gateway or several, as a process of its own. Each second it prints the calls that ended, as lists in
the order of calls.Call, how late it began calls, and whether all have ended.

    callers.py LOAD SEED HOST:PORT…

LOAD is a load.Load as JSON. Its clock begins with the order `begin TIME` on standard input, a time of the monotonic
clock.
"""

import asyncio
import itertools
import json
import sys

import child
from load import NORMAL, Load, arrivals


class Callers:
    def __init__(self, load: Load, seed: int, addresses: list[str]) -> None:
        self.load = load
        self.due = arrivals(load, seed)
        self.gateways = itertools.cycle([Gateway(address) for address in addresses])
        self.loop = asyncio.get_running_loop()
        self.zero = 0.0
        self.begun = self.ended = 0
        self.calls: list[list[object]] = []
        self.late: list[float] = []

    def begin(self, time: str) -> None:
        self.zero = float(time)
        self.wait_for_next()

    def take(self) -> dict[str, object]:
        taken = {"calls": self.calls, "late": self.late, "finished": self.ended == len(self.due)}
        self.calls, self.late = [], []
        return taken

    def wait_for_next(self) -> None:
        if self.begun < len(self.due):
            self.loop.call_at(self.zero + self.due[self.begun][0], self.begin_due)

    def begin_due(self) -> None:
        """Begins the calls that are due, however many are under way."""
        now = self.loop.time() - self.zero
        while self.begun < len(self.due) and self.due[self.begun][0] <= now:
            due, urgency = self.due[self.begun]
            self.begun += 1
            self.late.append(round(now - due, 4))
            Call(self, next(self.gateways), due, urgency).begin()
        self.wait_for_next()

    def end(self, call: "Call", status: int, origins: bool, reason: str, fields: bool) -> None:
        ended = self.loop.time() - self.zero
        self.ended += 1
        self.calls.append(
            [round(call.due, 4), round(ended, 4), status, int(origins), reason, int(fields), call.urgency]
        )


class Gateway:
    """A gateway, with the idle connections to it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.host, port = address.split(":")
        self.port = int(port)
        self.idle: list[Connection] = []


class Call:
    def __init__(self, callers: Callers, gateway: Gateway, due: float, urgency: int) -> None:
        self.callers = callers
        self.gateway = gateway
        self.due = due
        self.urgency = urgency
        self.connection: Connection | None = None
        self.over = False
        priority = "" if urgency == NORMAL else f"Priority: u={urgency}\r\n"
        self.head = f"GET / HTTP/1.1\r\nHost: {gateway.address}\r\n{priority}\r\n".encode()

    def begin(self) -> None:
        gives_up = self.callers.zero + self.due + self.callers.load.patience
        self.timer = self.callers.loop.call_at(gives_up, self.give_up)
        if self.gateway.idle:
            self.gateway.idle.pop().send(self)
        else:
            self.connecting = self.callers.loop.create_task(self.connect())

    async def connect(self) -> None:
        try:
            _, connection = await self.callers.loop.create_connection(
                lambda: Connection(self.gateway), self.gateway.host, self.gateway.port
            )
        except OSError:
            self.end(0)
            return
        if self.over:
            connection.transport.close()
        else:
            connection.send(self)

    def give_up(self) -> None:
        self.end(-1)
        if self.connection:
            self.connection.transport.abort()

    def lost(self, used: bool) -> None:
        """An idle connection may end while a request goes out on it. The request then goes out on another one."""
        if self.over:
            return
        self.connection = None
        if used:
            self.connecting = self.callers.loop.create_task(self.connect())
        else:
            self.end(0)

    def end(self, status: int, origins: bool = False, reason: str = "", fields: bool = False) -> None:
        if not self.over:
            self.over = True
            self.timer.cancel()
            self.callers.end(self, status, origins, reason, fields)


class Connection(asyncio.Protocol):
    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.call: Call | None = None
        self.received = b""
        self.used = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def send(self, call: Call) -> None:
        self.call = call
        call.connection = self
        self.received = b""
        self.transport.write(call.head)

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found or not self.call:
            return
        fields = dict(line.partition(":")[::2] for line in head.decode("latin-1").lower().split("\r\n")[1:])
        if len(body) < int(fields.get("content-length", "0")):
            return
        call, self.call = self.call, None
        self.used = True
        if fields.get("connection", "").strip() == "close":
            self.transport.close()
        else:
            self.gateway.idle.append(self)
        call.end(
            int(head.split(b" ", 2)[1]),
            origins="x-origin" in fields,
            reason=fields.get("x-weir-refused", "").strip(),
            fields="retry-after" in fields and "x-no-retry" in fields,
        )

    def connection_lost(self, error: Exception | None) -> None:
        if self in self.gateway.idle:
            self.gateway.idle.remove(self)
        if self.call:
            self.call.lost(self.used and not self.received)


async def main(load: str, seed: str, *addresses: str) -> None:
    callers = Callers(Load(**json.loads(load)), int(seed), list(addresses))
    child.tell(ready=True)
    await child.serve(callers.take, {"begin": callers.begin})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
