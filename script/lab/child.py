"""The common part of children: processes of their own that tell facts in lines of standard output, obey the lines of standard
input, and end with it."""

import asyncio
import json
import sys
import time
from collections.abc import Callable


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


async def each_second(take: Callable[[int], None]) -> None:
    """Calls at the end of each second, with its number. Seconds are those of the monotonic clock, which all processes of a
    machine share."""
    while True:
        second = int(time.monotonic())
        await asyncio.sleep(second + 1 - time.monotonic())
        take(second)


async def obey(orders: dict[str, Callable[..., None]]) -> None:
    """A line is the name of an order and its arguments."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        order, *arguments = line.decode().split()
        orders[order](*arguments)


async def serve(take: Callable[[], dict[str, object]], orders: dict[str, Callable[..., None]]) -> None:
    """Tells each second and obeys until standard input ends."""
    telling = asyncio.create_task(each_second(lambda second: tell(second=second, **take())))
    await obey(orders)
    telling.cancel()
