"""The row about hostile token services: what clients get of each of its faults, and afterwards."""

import asyncio
import time
from dataclasses import dataclass, field

from lab.client import Answer, Connection
from lab.credentials.hostile import FAULTS, LATE, TOKEN, Fault, Hostile
from lab.credentials.rig import Here
from lab.endure.rows import Bar
from lab.gateway import Gateway, Page, memory

BOUND = 1.5
"""Seconds: `timeout` and `wait` of each credential."""
LONGEST_SILENCE = 60
PEAK = 128
"""MiB of the gateway's memory, at most."""
HEALING = 20.0


@dataclass
class Seen:
    fault: Fault
    """That of the token service."""
    first: Answer
    took: float
    reasons: set[str] = field(default_factory=set)
    healed: int = 0
    """The requests until one was answered well, once the fault was over and the time of `Retry-After` had passed; 0: none was."""

    def wrong(self, slack: float) -> list[str]:
        """What is wrong, on a machine that is late by so many seconds.

        >>> refused = {"retry-after": "1", "x-weir-refused": "credential", "x-no-retry": "credential"}
        >>> Seen(Fault("html", b""), Answer(503, refused, b""), 0.1, {"bad_response"}, 1).wrong(1)
        []
        >>> Seen(Fault("html", b""), Answer(502, {}, b""), 9, {"timeout"}).wrong(1)[:3]
        ['status 502', 'X-Weir-Refused is not there', 'X-No-Retry is not there']
        """
        fields = self.first.fields
        if not self.fault.reason:
            return [] if self.first.status == 200 else [f"status {self.first.status}, {self.reasons or 'no reason'}"]
        found = [] if self.first.status == 503 else [f"status {self.first.status}"]
        found += [
            f"{name} is {fields.get(name.lower(), 'not there')}"
            for name in ("X-Weir-Refused", "X-No-Retry")
            if fields.get(name.lower()) != "credential"
        ]
        wait = fields.get("retry-after", "not there")
        if not wait.isdecimal() or not max(1, self.fault.least - slack) <= int(wait) <= LONGEST_SILENCE:
            found.append(f"Retry-After is {wait}")
        if self.took > BOUND + slack:
            found.append(f"after {self.took:.1f} s")
        # A busy machine may need all the time for the repeats of a refresh.
        if not self.reasons or not self.reasons <= ({self.fault.reason, LATE} if slack > 1 else {self.fault.reason}):
            found.append(f"the reason is {', '.join(sorted(self.reasons)) or 'not there'}, not {self.fault.reason}")
        return found if self.healed else [*found, f"not good in {HEALING:.0f} s after the fault"]


async def answers(here: Here) -> list[Bar]:
    services = [Hostile(fault) for fault in FAULTS]
    for service in services:
        await service.start()
    here.upstream.accept("hostile", f"Bearer {TOKEN}")
    bounds = {"timeout": f"{BOUND}s", "wait": f"{BOUND}s"}
    entries = [
        {"name": one.fault.name, "oauth2": {"tokenURL": one.url, "clientID": "shop", **bounds}} for one in services
    ]
    routes = [here.route(fault.name) for fault in FAULTS]
    gateway = await here.gateway("hostile", {"credentials": entries, "routes": routes})
    seen = await asyncio.gather(*(look(gateway, service) for service in services))
    for service in services:
        service.stop()
    here.place.notes += [line(one) for one in seen]
    wrong = {one.fault.name: one.wrong(slack=5 if here.short else 1) for one in seen}
    right = len(FAULTS) - sum(map(bool, wrong.values()))
    late = [one.fault.name for one in seen if one.healed > 1]
    peak = memory(gateway.pid, "VmHWM") / 1024
    followed = sum(service.followed for service in services)
    return [
        Bar(f"{right} of {len(FAULTS)} answers have the right outcome", right == len(FAULTS)),
        *(Bar(f"{name}: {'; '.join(texts)}", False) for name, texts in wrong.items() if texts),
        Bar(f"not good at the end of the silence: {', '.join(late) or 'none'}", here.short or not late),
        Bar(f"the gateway had at most {peak:.0f} MiB", peak < PEAK),
        Bar(f"{followed} redirects were followed", followed == 0),
    ]


async def look(gateway: Gateway, service: Hostile) -> Seen:
    fault, connection = service.fault, Connection(gateway.address)
    began = time.monotonic()
    seen = Seen(fault, await connection.ask(path=f"/{fault.name}"), time.monotonic() - began)
    seen.reasons = reasons(await gateway.page(), fault)
    service.healed = True
    if fault.reason:
        await asyncio.sleep(waited(seen.first))
        seen.healed = await attempts_until_good(connection, fault)
    connection.close()
    return seen


async def attempts_until_good(connection: Connection, fault: Fault) -> int:
    until, asked = time.monotonic() + HEALING, 0
    while time.monotonic() < until:
        asked += 1
        answer = await connection.ask(path=f"/{fault.name}")
        if answer.status == 200:
            return asked
        await asyncio.sleep(waited(answer))
    return 0


def waited(answer: Answer) -> float:
    wait = answer.fields.get("retry-after", "1")
    return min(float(wait), HEALING) if wait.isdecimal() else 1


def reasons(page: Page, fault: Fault) -> set[str]:
    return {
        reason
        for reason, number in page.by("reason", "weir_adaptation_failures_total", adapter=fault.name).items()
        if number
    }


def line(seen: Seen) -> str:
    wait = seen.first.fields.get("retry-after")
    told = f", Retry-After {wait} s, {', '.join(sorted(seen.reasons))}" if wait else ""
    return f"{seen.fault.name}: {seen.first.status} after {seen.took * 1000:.0f} ms{told}"
