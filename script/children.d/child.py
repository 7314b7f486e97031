"""The common part of the origins and callers of script/storm and script/overload: they report each second in a line of
standard output, obey the lines of standard input, and end with it."""

import asyncio
import json
import sys
import time
from collections.abc import Callable


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


async def tell_each_second(take: Callable[[], dict[str, object]]) -> None:
    """Seconds are those of the monotonic clock, which all processes of a machine share."""
    while True:
        second = int(time.monotonic())
        await asyncio.sleep(second + 1 - time.monotonic())
        tell(second=second, **take())


async def obey(orders: dict[str, Callable[..., None]]) -> None:
    """A line is the name of an order and its arguments."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        order, *arguments = line.decode().split()
        orders[order](*arguments)


async def serve(take: Callable[[], dict[str, object]], orders: dict[str, Callable[..., None]]) -> None:
    """Tells and obeys until standard input ends."""
    telling = asyncio.create_task(tell_each_second(take))
    await obey(orders)
    telling.cancel()
