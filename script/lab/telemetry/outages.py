"""The row about collectors in trouble: no request feels it, what is lost is counted, and all is well once the collector is."""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

from lab.credentials.server import response
from lab.endure.rows import Bar
from lab.gateway import Gateway, Page
from lab.load import NORMAL, Call, Schedule, count, quantile, steady
from lab.processes import Failure, Place, free_port
from lab.servers import nginx
from lab.telemetry.collector import TAKEN, Collector

RATE = 200
"""Requests per second, each with two spans."""
QUEUE, BATCH = 256, 64
REJECTED = 3
"""Spans of each message that a partial success leaves out."""
PAUSE = 2
"""Seconds for which a collector asks by 429."""
PATIENCE = 15
EXPORTED, DROPPED, WAITING = "weir_telemetry_exported_total", "weir_telemetry_dropped_total", "weir_telemetry_queue"
BESIDE = 300
"""Requests per second at each of the two gateways whose times are compared."""
ROUNDS, SECONDS = 8, 2
SLOWER = 1.25
GROWTH = 8
"""MiB of memory that a gateway may take more for spans that no collector takes."""


@dataclass
class Trouble:
    manner: str
    """A word of `Moody`."""
    result: str
    """The ends of exports."""
    reasons: tuple[str, ...]
    """Why spans are lost, if they are."""


TROUBLES = (
    Trouble("hangs", "failed", ("failed", "queue_full")),
    Trouble("refuses connections", "failed", ("failed", "queue_full")),
    Trouble("answers 429", "failed", ("failed", "queue_full")),
    Trouble("answers 400", "refused", ("refused",)),
    Trouble("takes a part", "partial", ("rejected",)),
    Trouble("sends half a head", "failed", ("failed",)),
    Trouble("sends half a body", "success", ()),
)


class Moody(Collector):
    """It counts spans, and reads no more of them, since it runs beside the callers."""

    def __init__(self) -> None:
        super().__init__()
        self.manner = "well"
        self.changed = asyncio.Event()
        self.taken = 0
        self.times: list[float] = []
        """When messages came."""

    async def becomes(self, manner: str) -> None:
        self.manner = manner
        self.changed.set()
        self.changed = asyncio.Event()
        self.times = []
        if manner == "refuses connections":
            self.stop()
        elif not self.server.is_serving():
            await self.start()

    async def answer(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.times.append(time.monotonic())
        message = ExportTraceServiceRequest.FromString(body)
        spans = sum(len(scope.spans) for of in message.resource_spans for scope in of.scope_spans)
        match self.manner:
            case "hangs":
                await self.changed.wait()
                writer.close()
            case "answers 429":
                writer.write(response(429, fields=f"Retry-After: {PAUSE}\r\n"))
            case "answers 400":
                writer.write(response(400, "no"))
            case "takes a part":
                self.taken += spans - min(REJECTED, spans)
                partial = ExportTraceServiceResponse()
                partial.partial_success.rejected_spans = min(REJECTED, spans)
                writer.write(response(200, partial.SerializeToString(), "Content-Type: application/x-protobuf\r\n"))
            case "sends half a head":
                writer.write(TAKEN[:20])
                writer.close()
            case "sends half a body":
                self.taken += spans
                writer.write(response(200, b"x" * 20)[:-10])
                writer.close()
            case _:
                self.taken += spans
                writer.write(TAKEN)


def configuration(collector: Collector, upstream: int, **traces: object) -> str:
    telemetry = {"endpoint": f"http://127.0.0.1:{collector.port}", "metrics": "off", **traces}
    route = {"name": "shop", "upstream": f"http://127.0.0.1:{upstream}"}
    return json.dumps({"telemetry": telemetry, "trace": {"sample": 1}, "routes": [route]})


async def until(gateway: Gateway, holds: Callable[[Page], bool], what: str) -> Page:
    """The first page of which it holds."""
    end = time.monotonic() + PATIENCE
    while not holds(page := await gateway.page()):
        if time.monotonic() > end:
            raise Failure(f"{what}: not in {PATIENCE} s; {dict(results(page))}, {dict(losses(page))}")
        await asyncio.sleep(0.05)
    return page


def results(page: Page) -> dict[str, float]:
    return page.by("result", EXPORTED, signal="traces")


def losses(page: Page) -> dict[str, float]:
    return page.by("reason", DROPPED, signal="traces")


def more(after: dict[str, float], before: dict[str, float]) -> dict[str, float]:
    """
    >>> more({"a": 3, "b": 1}, {"a": 1, "b": 1})
    {'a': 2}
    """
    return {key: value - before.get(key, 0) for key, value in after.items() if value > before.get(key, 0)}


async def collectors(place: Place) -> list[Bar]:
    upstream = free_port()
    await nginx(place, [upstream])
    return [*await troubled(place, upstream), *await beside(place, upstream)]


async def troubled(place: Place, upstream: int) -> list[Bar]:
    """One trouble after another, under load."""
    collector = Moody()
    await collector.start()
    traces = {"queue": QUEUE, "batch": BATCH, "delay": "100ms", "timeout": "1s"}
    gateway = await Gateway.start(place, configuration(collector, upstream, traces=traces, timeout="300ms"), workers=1)
    load = steady(gateway.address, RATE).begin()
    bars = [await met(trouble, collector, gateway) for trouble in TROUBLES]
    await load.end()
    page = await until(gateway, lambda page: page.sum(WAITING) == 0, "all is exported")
    made, lost = 2 * len(load.calls), sum(losses(page).values())
    bad = count(load.calls, lambda call: not call.good)
    most = max(call.took for call in load.calls)
    place.notes.append(f"the slowest request took {most * 1000:.0f} ms; lost: {losses(page)}; exports: {results(page)}")
    await gateway.process.end()
    return [
        *bars,
        Bar(f"{bad} of {len(load.calls)} requests failed", bad == 0),
        Bar(f"{made} spans: {collector.taken} taken and {lost:.0f} lost", collector.taken + lost == made),
    ]


async def met(trouble: Trouble, collector: Moody, gateway: Gateway) -> Bar:
    """Waits for the signs of a trouble, and then for the end of it."""
    before = await gateway.page()
    await collector.becomes(trouble.manner)

    def seen(page: Page) -> bool:
        ended, lost = more(results(page), results(before)), more(losses(page), losses(before))
        return ended.get(trouble.result, 0) >= 2 and set(trouble.reasons) <= lost.keys()

    during = await until(gateway, seen, f"a collector that {trouble.manner}")
    gaps = [later - earlier for earlier, later in zip(collector.times, collector.times[1:])]
    await collector.becomes("well")
    began = time.monotonic()
    after = await until(
        gateway,
        lambda page: results(page)["success"] >= results(during)["success"] + 2 and page.sum(WAITING) < BATCH,
        f"a collector that is well after it {trouble.manner}",
    )
    took = time.monotonic() - began
    lost, full = more(losses(after), losses(before)), during.sum(WAITING)
    paused = trouble.manner != "answers 429" or min(gaps, default=0) >= PAUSE - 0.1
    words = ", ".join(f"{number:.0f} {reason}" for reason, number in lost.items()) or "none"
    gap = f", attempts {min(gaps, default=0):.1f} s apart" if trouble.manner == "answers 429" else ""
    held = paused and set(lost) - {"queue_full"} == set(trouble.reasons) - {"queue_full"} and full <= QUEUE
    return Bar(f"{trouble.manner}: lost {words}{gap}, well in {took:.1f} s", held)


async def beside(place: Place, upstream: int) -> list[Bar]:
    """Two gateways, of which one has a collector that hangs. Their requests come in turn, so that noise falls on both."""
    well, hanging = Moody(), Moody()
    gateways = []
    for name, collector in (("well", well), ("hanging", hanging)):
        await collector.start()
        gateways.append(await Gateway.start(place, configuration(collector, upstream), name=name, workers=1))
    await hanging.becomes("hangs")
    calls: list[list[list[Call]]] = [[], []]
    sizes = []
    # The first round fills the queue, and what is allocated once.
    for _ in range(ROUNDS + 1):
        zero = time.monotonic()
        loads = [Schedule([gateway.address], arrivals(number)).begin(zero) for number, gateway in enumerate(gateways)]
        for load, rounds in zip(loads, calls, strict=True):
            await load.task
            await load.end()
            rounds.append(load.calls)
        sizes.append([gateway.resident() / 1024 for gateway in gateways])
    page = await gateways[1].page()
    bad = sum(count(one, lambda call: not call.good) for rounds in calls for one in rounds)
    grown = sizes[-1][1] - sizes[0][1]
    of_well, of_hanging = (tail(call for one in rounds[1:] for call in one) for rounds in calls)
    for name, rounds in zip(("well", "hanging"), calls, strict=True):
        place.notes.append(f"{name}: p99 of the rounds in ms: {', '.join(f'{tail(one):.1f}' for one in rounds)}")
    place.notes.append(f"MiB after each round: {', '.join(f'{one[0]:.1f} {one[1]:.1f}' for one in sizes)}")
    ratio = of_hanging / of_well
    return [
        Bar(f"p99 {of_hanging:.1f} ms beside one that hangs, else {of_well:.1f}: {ratio:.2f}×", ratio <= SLOWER),
        Bar(f"{bad} failed", bad == 0),
        Bar(f"{page.sum(WAITING):.0f} spans wait, {losses(page).get('queue_full', 0):.0f} found no room", page.sum(WAITING) <= 2048),
        Bar(f"{grown:+.1f} MiB of memory", grown <= GROWTH),
    ]


def arrivals(number: int) -> Iterator[tuple[float, int]]:
    """The times for one of the two gateways."""
    return (((at + number / 2) / BESIDE, NORMAL) for at in range(BESIDE * SECONDS))


def tail(calls: Iterable[Call]) -> float:
    """The p99 in milliseconds."""
    return (quantile((call.took for call in calls), 0.99) or 0) * 1000
