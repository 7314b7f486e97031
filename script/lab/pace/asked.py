"""Rows about pauses of some seconds, for which the upstream asks once."""

import asyncio
import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field

from lab.client import get
from lab.endure.rows import Bar
from lab.gateway import Gateway
from lab.load import BROKEN, GAVE_UP, Call, count, quantile
from lab.overload.callers import Load
from lab.pace.api import Plan
from lab.pace.figures import Pause, pauses, wrong
from lab.pace.run import Outcome, run
from lab.processes import Failure, Place

PAUSE = 5
"""Seconds."""
AT = 2
"""When the upstream asks for it."""
LEFT = re.compile(r"has asked for a pause: (\d+) s (?:is|are) left")
LOOKS = 0.25
"""Seconds between looks at the status page."""


@dataclass(frozen=True)
class Slack:
    """Seconds that a machine may take."""

    reaction: float = 0.05
    """From the answer that asks for a pause to the last attempt that was sent before it."""
    page: float = 0.5
    """By which what is told of a pause may be wrong, and by which the page may be late after it."""
    retry: float = 0.5
    """From the end of a pause to the retry that waited for it."""
    named: float = 1.0
    """From the beginning of a pause until the status page names it."""


BUSY = Slack(reaction=1.0, page=1.0, retry=2.0, named=3.0)


def others(calls: list[Call]) -> Counter[str]:
    """The endings that are neither good nor the upstream's."""
    names = {GAVE_UP: "gave up", BROKEN: "broken off"}
    bad = (call for call in calls if not call.good and not (call.status == 429 and call.origins))
    return Counter(names.get(call.status) or call.reason or str(call.status) for call in bad)


def upstreams(calls: list[Call]) -> int:
    """The answers of 429 that are the upstream's."""
    return count(calls, lambda call: call.status == 429 and call.origins)


def asked(outcome: Outcome, slack: Slack) -> list[Pause]:
    found = pauses(outcome.hits, slack.reaction)
    if not found:
        raise Failure("the upstream has asked for no pause")
    return found


def early(found: list[Pause]) -> Bar:
    number = sum(pause.early for pause in found)
    return Bar(f"{number} attempts early, {sum(pause.under_way for pause in found)} under way", not number)


async def waits(place: Place, short: bool, slack: Slack) -> list[Bar]:
    """Many callers wait for the end of a pause, which all of them can."""
    # A busy machine answers fewer, and takes longer for those that have waited.
    rate, seconds, patience = (60, 10, 25) if short else (200, 20, 10)
    load = Load(rates=((0, rate),), until=seconds, patience=patience)
    keys = {"pace": {"rate": "500/s", "wait": f"{patience}s"}}
    outcome = await run(place, "waits", Plan(pauses=((AT, PAUSE),)), load, keys)
    found = asked(outcome, slack)
    bad, limited = others(outcome.calls), upstreams(outcome.calls)
    waited = [call.took for call in outcome.calls if AT <= call.due < AT + PAUSE]
    place.notes.append(f"waits: callers of the pause had answers after {quantile(waited, 0.99) or 0:.1f} s (p99)")
    return [
        Bar(f"{len(outcome.calls)} calls, {limited} × 429 by the upstream", limited == len(found) == 1),
        Bar(f"none refused{f', but {dict(bad)}' if bad else ''}", not bad),
        early(found),
    ]


@dataclass
class Look:
    """One look at the status page. Times are by the monotonic clock."""

    began: float
    ended: float
    paused_for: float | None
    said: int | None
    """The seconds in the problem's text."""
    shown: bool
    """Whether the page for people has such a text."""

    def wrong(self, end: float) -> float:
        """By how many seconds it differs from those that were left while one looked; infinite if it names no pause.

        >>> [Look(10, 10.5, left, 3, True).wrong(12) for left in (1.75, 2.25, 1)]
        [0, 0.25, 0.5]
        """
        if self.paused_for is None or self.said is None or not self.shown:
            return float("inf")
        most, least = end - self.began, end - self.ended
        apart = max(0, self.paused_for - most, least - self.paused_for)
        # The text has whole seconds.
        return max(apart, max(0, self.said - most - 1, least - self.said - 1))


@dataclass
class Watcher:
    until: float
    """Seconds since the beginning."""
    looks: list[Look] = field(default_factory=list)
    zero: float = 0

    async def watch(self, gateway: Gateway, begin: float) -> None:
        self.zero = begin
        page = gateway.metrics.removesuffix("/metrics") + "/status"
        while time.monotonic() < begin + self.until:
            self.looks.append(await look(page))
            await asyncio.sleep(LOOKS)


async def look(page: str) -> Look:
    began = time.monotonic()
    status = json.loads(await get(f"{page}.json"))
    shown = LEFT.search((await get(page)).decode())
    ended = time.monotonic()
    left = next((one["paused_for"] for one in status["upstreams"] if one.get("paused_for") is not None), None)
    text = next((found for one in status["problems"] if (found := LEFT.search(one["text"]))), None)
    return Look(began, ended, left, int(text[1]) if text else None, bool(shown))


async def told(place: Place, _: bool, slack: Slack) -> list[Bar]:
    """Callers who can't wait for the end of a pause are told how long it takes, and so is a person who looks at the status page."""
    until = AT + PAUSE + 3
    watcher = Watcher(until)
    load = Load(rates=((0, 50),), until=until, patience=10)
    plan, keys = Plan(pauses=((AT, PAUSE),)), {"pace": {"wait": "1s"}}
    outcome = await run(place, "told", plan, load, keys, watcher.watch)
    found = asked(outcome, slack)
    began, ends = found[0].began, found[0].ends
    refused = [call for call in outcome.calls if call.reason == "paused"]
    errors = [wrong(float(call.retry_after or "nan"), ends - call.ended, ends - call.due) for call in refused]
    apart = max((abs(error) for error in errors), default=float("inf"))
    took = quantile((call.took for call in refused), 0.99) or 0
    other = others([call for call in outcome.calls if call.reason != "paused"])
    return [
        Bar(f"{len(refused)} refused in the pause, after {took * 1000:.0f} ms (p99)", len(refused) > 2 * 50),
        Bar(f"Retry-After was wrong by {apart:.2f} s at most", apart <= slack.page),
        Bar(f"no other answers{f', but {dict(other)}' if other else ''}", not other),
        early(found),
        *seen(watcher, began, ends, slack),
    ]


def seen(watcher: Watcher, began: float, ends: float, slack: Slack) -> list[Bar]:
    """What the status page says of a pause, and after it."""
    begin, end = watcher.zero + began, watcher.zero + ends
    during = [one for one in watcher.looks if begin + slack.named <= one.began and one.ended < end - slack.page]
    first = next((one.ended - begin for one in watcher.looks if one.wrong(end) <= slack.page), float("inf"))
    apart = max((one.wrong(end) for one in during), default=float("inf"))
    after = [one for one in watcher.looks if one.began > end + slack.page]
    still = sum(one.paused_for is not None for one in after)
    return [
        Bar(f"named on /status after {first:.1f} s", first <= slack.named),
        # The page serves a sample for a second.
        Bar(f"its seconds were wrong by {apart:.2f} s at most in {len(during)} looks", apart <= slack.page + 1),
        Bar(f"gone in {len(after) - still} of {len(after)} looks after it", bool(after) and not still),
    ]


async def retried(place: Place, short: bool, slack: Slack) -> list[Bar]:
    """A retry waits for `Retry-After` once, and not for the pause and then for its own delay."""
    # On a busy machine a longer pause tells one from two.
    times, seconds, pace = ((1, 6), 3, {"wait": "10s"}) if short else ((1, 4, 7, 10, 13), 1, {})
    load = Load(rates=((0, 20),), until=times[-1] + seconds + 2, patience=10)
    keys = {"pace": pace, "retry": {"limit": 2, "statusCodes": [429]}}
    outcome = await run(place, "retried", Plan(pauses=tuple((at, seconds) for at in times)), load, keys)
    found = asked(outcome, slack)
    retries = [hit for hit in outcome.hits if hit.retry]
    bad = sum(not call.good for call in outcome.calls)
    # Each is looked at beside the pause that it waited for: the last one that began before it came.
    after = [hit.came - max(one.ends for one in found if one.began < hit.came) for hit in retries]
    longest = max(after, default=float("inf"))
    return [
        Bar(f"{bad} of {len(outcome.calls)} answers bad", not bad),
        Bar(f"{len(retries)} retries of {len(times)} answers of 429", len(retries) == len(times)),
        Bar(
            f"they came {longest:.2f} s after the pause at most", 0 <= min(after, default=-1) <= longest <= slack.retry
        ),
        early(found),
    ]


ROWS = {
    "waits": ("a pause of 5 s, many that can wait: none refused, none early", waits),
    "told": ("a pause of 5 s, 50/s that can't: refused with the seconds that are left, which /status has too", told),
    "retried": ("a retry waits for Retry-After once", retried),
}
