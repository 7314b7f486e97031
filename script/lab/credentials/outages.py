"""The row about a token service that is down for longer than its tokens last."""

import math
import time
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lab.credentials.rig import Client, Here, TokenService, good, loaded, passes, until
from lab.credentials.server import Hole
from lab.endure.rows import Bar
from lab.load import Call, Schedule, quantile

TRIES = 3
"""Requests of one refresh, at most."""
FIRST, SPREAD, LONGEST = 1.0, 0.2, 60.0
"""Seconds of the first silence, of which each one differs by a share, and of the longest."""
QUICK = 0.010
"""Seconds of a refusal."""


@dataclass
class Refusal:
    """Times are those of the monotonic clock."""

    began: float
    ended: float
    call: Call

    @property
    def wait(self) -> float:
        """The seconds of `Retry-After`; NaN if it is no number of them."""
        return float(self.call.retry_after) if self.call.retry_after.isdecimal() else math.nan

    def is_silent(self, tries: Sequence[float]) -> bool:
        """Whether no refresh was under way, whose tries began at these times.

        >>> [Refusal(began, began + 1, Call(0, 1, 503)).is_silent([2.5, 5]) for began in (1, 2, 3, 4.5)]
        [True, False, True, False]
        """
        return bisect(tries, self.began) == bisect(tries, self.ended)

    def error(self, tries: Sequence[float]) -> float | None:
        """By how many seconds the next try came before or after the time that `Retry-After` told, which may be up to a second
        too late; None if there was none.

        >>> refusal = Refusal(1, 1, Call(0, 0, 503, retry_after="3"))
        >>> [refusal.error([0, at]) for at in (2.5, 3.5, 4.25)], refusal.error([0])
        ([-0.5, 0.0, 0.25], None)
        """
        if (number := bisect(tries, self.ended)) == len(tries):
            return None
        told = self.ended + self.wait
        return min(0.0, tries[number] - told + 1) + max(0.0, tries[number] - told)


def most_refreshes(seconds: float) -> int:
    """The refreshes in an outage of so many seconds, if every silence is as short as may be, and one to spare.

    >>> most_refreshes(61), most_refreshes(9)
    (8, 5)
    """
    begun, at, silence = 1, FIRST * (1 - SPREAD), FIRST
    while at < seconds:
        silence = min(2 * silence, LONGEST)
        begun, at = begun + 1, at + silence * (1 - SPREAD)
    return begun + 1


async def down(here: Here) -> list[Bar]:
    """The service is killed and its port resets connections, until so long after the last token has ended."""
    # In short the first refresh fails twelve seconds before the token ends, of which a busy machine may take some to get one, and there
    # is one silence without a token that is long enough to see a request that waits its five seconds out.
    lifetime, beyond, rate = (36, 12, 25) if here.short else (here.lifetime, 60, 200)
    service = TokenService(here.place, here.upstream, Client("down", lifetime=lifetime), name="down")
    await service.start()
    config = {"credentials": [here.oauth2("down", service)], "routes": [here.route("down")]}
    gateway = await here.gateway("down", config)
    load = loaded(gateway, "/down", rate)
    await good(load, rate)
    await service.kill()
    hole = await Hole(service.port).start()
    await until(lambda: hole.times, "no refresh")
    # A token that the service told the upstream before it was killed, the gateway may never have had.
    ended = max(one.until for one in here.upstream.owned("down") if one.used)
    await passes(ended + beyond - time.monotonic())
    failed = (await gateway.page()).sum("weir_auth_refreshes_total", interceptor="down", outcome="failure")
    hole.stop()
    await service.start()
    back = time.monotonic()
    await until(lambda: first_good(load, back), "not good again", LONGEST * (1 + SPREAD) + 30)
    await good(load, rate)
    await load.end()
    return judge(here, load, hole.times, failed, ended, back)


def first_good(load: Schedule, since: float) -> float | None:
    """When the first request that came after a time had a good answer."""
    times = (load.zero + call.ended for call in load.calls if call.good and load.zero + call.due > since)
    return min(times, default=None)


def judge(here: Here, load: Schedule, tries: list[float], failed: float, ended: float, back: float) -> list[Bar]:
    refused = [
        Refusal(load.zero + call.due, load.zero + call.ended, call)
        for call in load.calls
        if call.reason == "credential"
    ]
    others = Counter(call.status for call in load.calls if not call.good and call.reason != "credential")
    # Their token ended on the way, and there was no other one.
    late = others.pop(401, 0)
    here.place.notes.append(f"down: other answers were {dict(others)}, and {late} × 401")
    # A busy machine is late with a token, a try or an answer.
    soon, slack, quick = (10.0, 5.0, 2.5) if here.short else (0.5, 0.5, QUICK)
    early = sum(one.began < ended - soon for one in refused)
    silent = [one for one in refused if one.ended < back and one.is_silent(tries)]
    times = [one.ended - one.began for one in silent]
    half, most = (quantile(times, share) or math.inf for share in (0.5, 0.99))
    errors = [error for one in refused if (error := one.error(tries)) is not None]
    wrong = max(map(abs, errors), default=math.inf)
    allowed = most_refreshes(back - tries[0])
    again = first_good(load, back) or math.inf
    told = min((one.ended + one.wait for one in refused if one.ended > back), default=back)
    here.place.notes.append(f"down: tries came after {', '.join(f'{at - tries[0]:.1f}' for at in tries)} s")
    return [
        Bar(
            f"{others.total()} of {len(load.calls)} requests failed otherwise, {early} before the token ended",
            not others and not early and (here.short or not late),
        ),
        Bar(
            f"{failed:.0f} refreshes and {len(tries)} requests at the service",
            failed <= allowed and len(tries) <= TRIES * allowed,
        ),
        Bar(
            f"{len(silent)} refusals in silence after {half * 1000:.1f} ms (p99 {most * 1000:.1f} ms)",
            half < quick,
        ),
        Bar(
            f"Retry-After was wrong by {wrong:.1f} s at most",
            wrong < slack and not any(math.isnan(one.wait) for one in refused),
        ),
        Bar(f"good {again - back:.1f} s after the service, {again - told:+.1f} s of Retry-After", again < told + slack),
    ]
