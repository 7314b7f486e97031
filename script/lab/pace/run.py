"""One run: an API, a gateway before it and callers, each a process of its own."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab import command
from lab.gateway import Gateway, Page
from lab.load import Call, due_within
from lab.overload.callers import Load
from lab.overload.gateways import http_filter, start_envoy
from lab.pace.api import LIMIT, Hit, Plan
from lab.processes import Failure, Place, Process, free_address

SEED = 7
START = 0.5
"""Seconds from the order to begin until the beginning."""
SPARE = 30.0
"""Seconds that a run may take longer than its callers."""
Config = dict[str, Any]
Watch = Callable[[Gateway, float], Coroutine[Any, Any, None]]
"""Something that is done beside the load. Its number is the time at which the run begins, by the monotonic clock."""


@dataclass
class Outcome:
    """What the callers and the API saw. Times are in seconds since the beginning."""

    load: Load
    calls: list[Call] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    """How late requests were sent."""
    page: Page | None = None
    """The gateway's metrics at the end; None for Envoy."""

    def keep(self, directory: Path) -> None:
        command.keep(directory / "calls.csv", Call._fields, self.calls)
        command.keep(directory / "hits.csv", Hit._fields, self.hits)


def route(upstream: str, **keys: object) -> Config:
    return {"routes": [{"name": "api", "upstream": f"http://{upstream}", "timeout": "30s", **keys}]}


def local_rate_limit() -> dict[str, object]:
    """Envoy's filter, as its documentation has it for a limit per second."""
    always = {"default_value": {"numerator": 100}}
    bucket = {"max_tokens": LIMIT, "tokens_per_fill": LIMIT, "fill_interval": "1s"}
    limit = {"stat_prefix": "api", "token_bucket": bucket, "filter_enabled": always, "filter_enforced": always}
    return http_filter("local_ratelimit", "LocalRateLimit", **limit)


async def run(
    place: Place, name: str, plan: Plan, load: Load, keys: Config | None, watch: Watch | None = None
) -> Outcome:
    """`keys` are those of weir's route; without them the gateway is Envoy."""
    here, outcome = Place.empty(place.program, place.directory / name), Outcome(load)
    try:
        async with asyncio.timeout(load.until + load.patience + SPARE):
            await measure(here, outcome, plan, keys, watch)
    except TimeoutError as error:
        raise Failure(f"{name}: the callers did not end in time") from error
    finally:
        await here.stop()
    outcome.keep(here.directory)
    return outcome


async def measure(place: Place, outcome: Outcome, plan: Plan, keys: Config | None, watch: Watch | None) -> None:
    api = await place.child("api", "pace.api", json.dumps(asdict(plan)))
    upstream, gateway = (await first(api))["address"], None
    if keys is None:
        address = await start_envoy(place, "envoy", free_address(), upstream, local_rate_limit())
    else:
        gateway = await Gateway.start(place, json.dumps(route(upstream, **keys)), "--gateway.drain-timeout=1s")
        address = gateway.address
    callers = await place.child("callers", "overload.callers", json.dumps(asdict(outcome.load)), SEED, address)
    await first(callers)
    begin = time.monotonic() + START
    for child in (api, callers):
        child.order(f"begin {begin}")
    async with asyncio.TaskGroup() as group:
        ended = group.create_task(hear_callers(callers, outcome))
        group.create_task(hear_api(api, outcome, ended))
        if watch and gateway:
            group.create_task(watch(gateway, begin))
    place.check()
    outcome.page = await gateway.page() if gateway else None


async def first(child: Process) -> dict[str, Any]:
    """The first fact that a child tells: it is there."""
    async for facts in child.facts():
        return facts
    raise Failure(f"{child.name} did not start: {child.tail()}")


async def hear_callers(callers: Process, outcome: Outcome) -> int:
    """Returns the second in which all have ended."""
    async for facts in callers.facts():
        outcome.calls += [Call(*call) for call in facts["calls"]]
        outcome.late += facts["late"]
        if facts["finished"]:
            return int(time.monotonic())
    raise Failure(f"the callers ended early: {callers.tail()}")


async def hear_api(api: Process, outcome: Outcome, ended: asyncio.Task[int]) -> None:
    """Returns once the API has told the second in which the callers ended."""
    async for facts in api.facts():
        outcome.hits += [Hit(*hit) for hit in facts["hits"]]
        if ended.done() and facts["second"] >= ended.result():
            return
    raise Failure(f"the API ended early: {api.tail()}")


def asked(outcome: Outcome) -> list[Call]:
    return due_within(outcome.calls, 0, outcome.load.until)
