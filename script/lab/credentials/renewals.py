"""The rows about tokens that end, tokens that are refused, and many requests at the start."""

import asyncio
import math
from collections import Counter

from lab.client import BROKEN_OFF, Pool
from lab.credentials.rig import PATIENCE, Client, Here, bad, failures, good, loaded, passes, text, until
from lab.credentials.upstream import NEVER, SCOPED
from lab.endure.rows import Bar
from lab.gateway import Gateway

CROWD, SOME = 2000, 500
"""Requests at the start, and those of the short form."""
TOGETHER = 50
"""Requests that are begun at the same moment."""
BY_REFUSAL = 5
"""Refreshes in 30 s that refusals by the upstream may begin."""
CLIENTS = (Client("revoked"), Client("crowd"), Client("scoped"), Client("never"))
"""Besides `ages`, whose tokens end soon."""


async def ages(here: Here) -> list[Bar]:
    """Tokens that end soon, under load."""
    seconds, rate = (30, 100) if here.short else (60, 300)
    config = {"credentials": [here.oauth2("ages")], "routes": [here.route("ages")]}
    gateway = await here.gateway("ages", config)
    load = loaded(gateway, "/ages", rate)
    await passes(seconds)
    await load.end()
    asked = len(await here.service.asked("ages"))
    refused = here.upstream.statuses["/ages", 401]
    here.place.notes.append(f"ages: the upstream refused {refused} attempts, whose tokens ended on the way")
    here.place.notes.append(f"ages: {failures(load.calls)}")
    return [
        Bar(f"{bad(load.calls)} of {len(load.calls)} requests failed", bad(load.calls) == 0),
        Bar(
            f"{asked} requests for a token of {here.lifetime} s in {seconds} s", asked <= most(seconds, here.lifetime)
        ),
    ]


def most(seconds: float, lifetime: float) -> int:
    """The requests for a token in this time, at most: one each 1.9 s of a lifetime of 3 s, with some to spare.

    >>> most(60, 3), most(30, 12)
    (35, 7)
    """
    return math.ceil(seconds / (lifetime * 1.9 / 3)) + 3


async def revoked(here: Here) -> list[Bar]:
    """All tokens are revoked, under load of which a half may be sent once only by rights."""
    rate = 50 if here.short else 150
    config = {
        "credentials": [here.oauth2("revoked", authentication="post")],
        "routes": [here.route("revoked")],
    }
    gateway = await here.gateway("revoked", config)
    path = "/revoked"
    # So that several requests have the old token when it is revoked.
    here.upstream.latency[path] = 0.1
    loads = [loaded(gateway, path, rate), loaded(gateway, path, rate, method="POST", body=b"once" * 256)]
    await asyncio.gather(*(good(load, rate) for load in loads))
    here.upstream.revoke("revoked")
    await until(lambda: here.upstream.statuses[path, 401], "no attempt was refused")
    await asyncio.gather(*(good(load, rate) for load in loads))
    for load in loads:
        await load.end()
    calls = [call for load in loads for call in load.calls]
    retried = (await gateway.page()).sum("weir_retries_total", reason="401")
    refused, asked = here.upstream.statuses[path, 401], len(await here.service.asked("revoked")) - 1
    return [
        Bar(
            f"{bad(calls)} of {len(calls)} requests failed, of which {refused} were refused and sent again",
            bad(calls) == 0,
        ),
        Bar(f"{asked} refresh", asked == 1),
        Bar(f"{retried:.0f} retries are counted", retried == refused),
    ]


async def refused(here: Here) -> list[Bar]:
    """An upstream that wants another scope, and one that takes no token at all."""
    number = 20 if here.short else 200
    config = {
        "credentials": [here.oauth2("scoped"), here.oauth2("never")],
        "routes": [here.route("scoped"), here.route("never")],
    }
    gateway = await here.gateway("refused", config)
    scoped = await statuses(gateway, SCOPED, number)
    never = await statuses(gateway, NEVER, number)
    asked = {name: len(await here.service.asked(name)) - 1 for name in ("scoped", "never")}
    excessive = (await gateway.page()).sum("weir_auth_refreshes_total", interceptor="never", outcome="excessive")
    return [
        Bar(
            f"without the scope: {shown(scoped)}, {asked['scoped']} refreshes",
            scoped == {403: number} and not asked["scoped"],
        ),
        Bar(
            f"never taken: {shown(never)}, {asked['never']} refreshes",
            never == {401: number} and asked["never"] <= BY_REFUSAL,
        ),
        Bar(f"{excessive:.0f} refreshes are counted as too many", excessive > 0),
    ]


async def crowd(here: Here) -> list[Bar]:
    """Requests that come before the first token. The token service answers once all of them wait."""
    number = SOME if here.short else CROWD
    await here.service.order("hold", client="crowd")
    entry = here.oauth2("crowd", timeout="30s", wait="30s")
    config = {"credentials": [entry], "routes": [here.route("crowd", timeout="60s", overload="off")]}
    gateway = await Gateway.start(here.place, text(config), name="crowd")
    asking = asyncio.create_task(statuses(gateway, "/crowd", number, together=True))
    waiting = 0.0
    try:
        async with asyncio.timeout(25):
            while waiting < number and not asking.done():
                waiting = max(waiting, (await gateway.page()).sum("weir_auth_refresh_waiters", interceptor="crowd"))
    except TimeoutError:
        pass  # the bar says so
    await here.service.order("release", client="crowd")
    found = await asking
    asked = len(await here.service.asked("crowd"))
    return [
        Bar(f"{waiting:.0f} requests waited", waiting == number),
        Bar(f"{shown(found)}", found == {200: number}),
        Bar(f"{asked} request for a token", asked == 1),
    ]


async def statuses(gateway: Gateway, path: str, number: int, together: bool = False) -> Counter[int]:
    """The statuses of so many requests, in a row or all together; 0 are those without an answer."""
    pool = Pool(gateway.address)

    async def status() -> int:
        try:
            async with asyncio.timeout(PATIENCE * 2):
                return (await pool.ask(path)).status
        except BROKEN_OFF:
            return 0

    tasks = []
    for at in range(number):
        tasks.append(asyncio.create_task(status()))
        if not together:
            await tasks[-1]
        elif at % TOGETHER == 0:
            await asyncio.sleep(0)
    found = Counter(await asyncio.gather(*tasks))
    pool.close()
    return found


def shown(found: Counter[int]) -> str:
    """
    >>> shown(Counter([200, 503, 200]))
    '2 × 200, 1 × 503'
    """
    return ", ".join(f"{number} × {status}" for status, number in sorted(found.items()))
