"""Callers at a fixed rate, and what became of each request."""

import asyncio
import time
from dataclasses import dataclass

from load import Connection

CALLERS = 16
PATIENCE = 20
"""Seconds that a caller waits; the route's timeout is far shorter."""


@dataclass(frozen=True)
class Call:
    began: float
    """By the monotonic clock, as its end."""
    ended: float
    status: int
    """0 without an answer."""
    server: str
    """The address and port of the origin that answered."""


class Demand:
    """Requests have their times beforehand, whatever becomes of those before them. So in the long run the rate is the
    same, even on a machine that is short of time."""

    def __init__(self, address: str, rate: float) -> None:
        self.address = address
        self.pause = CALLERS / rate
        self.calls: list[Call] = []
        self.callers: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        now = time.monotonic()
        for number in range(CALLERS):
            self.callers.append(asyncio.create_task(self.caller(now + self.pause * number / CALLERS)))

    async def end(self) -> None:
        for caller in self.callers:
            caller.cancel()
        await asyncio.gather(*self.callers, return_exceptions=True)

    async def caller(self, due: float) -> None:
        connection = Connection(self.address)
        while True:
            await asyncio.sleep(due - time.monotonic())
            due += self.pause
            began, status, server = time.monotonic(), 0, ""
            try:
                async with asyncio.timeout(PATIENCE):
                    answer = await connection.ask()
                status, server = answer.status, answer.server
            except (OSError, asyncio.IncompleteReadError):  # a TimeoutError is an OSError
                connection.close()
            self.calls.append(Call(began, time.monotonic(), status, server))

    def between(self, begin: float, end: float) -> list[Call]:
        """Those that ended then. A request that is cut off ends when that happens, whenever it began."""
        return [call for call in self.calls if begin <= call.ended < end]
