"""Reloads: what they leave behind, and what they cost beside the load."""

import asyncio
from collections.abc import Iterable

from lab.client import Connection
from lab.endure.rows import Bar, row
from lab.gateway import Gateway, flow
from lab.load import Wrk
from lab.processes import Failure, Place, free_port
from lab.servers import nginx

WIDTH = 60
"""Routes of a file of `reloads`, each with an upstream of its own."""
ROUNDS = 250
ASKED = 6
"""Requests after a reload, to two routes of each kind that has an open port."""
ROUTES = 1000
BUSY_ROUNDS = 50
SETTLED = 70
"""Reloads after which memory is compared with that at the end: there are as many departed routes then as are kept."""
QUIET_ROUNDS = 5
"""Reloads before the load, for comparison."""
TURN = 0.02


def config(routes: Iterable[tuple[str, str, str]], *more: str) -> str:
    """Each route has a name, an address, and perhaps the name of an entry of `upstreams`, which has that address."""
    entries, lines = ["upstreams:"], ["routes:", *more]
    for name, address, entry in routes:
        if entry:
            entries.append(f"  - {{ name: {entry}, endpoints: {flow([address])} }}")
        target = entry or f"http://{address}"
        lines.append(f'  - {{ name: {name}, match: {{ pathPrefix: /{name} }}, upstream: "{target}" }}')
    return "\n".join(entries + lines) + "\n"


def new_names(generation: int, opened: int, closed: int) -> str:
    """A file none of whose names is in another one: half of the routes have a URL, half name an entry of `upstreams`. A
    third of all upstreams can't be reached, for which there are ports that are closed."""
    routes = []
    for number in range(WIDTH):
        port = closed if number % 3 == 2 else opened
        # No two generations share an address: 127.1.0.0 and so on are all of the loopback.
        address = f"127.{1 + generation // 200}.{generation % 200}.{1 + number}:{port}"
        name = f"g{generation}-{number}"
        routes.append((name, address, name if number % 2 else ""))
    return config(routes)


@row(
    "reloads",
    f"{ROUNDS} reloads: page <= 2x that of the first file, descriptors +-5, memory <= 1.1x that after {SETTLED}",
    before="page 6 MB, descriptors 96 -> 331",
)
async def reloads(place: Place) -> list[Bar]:
    opened, closed = free_port(), free_port()
    await nginx(place, [opened])
    gateway = await Gateway.start(place, new_names(0, opened, closed))
    connection = Connection(gateway.address)

    async def ask(generation: int, numbers: range) -> None:
        for number in numbers:
            answer = await connection.ask(path=f"/g{generation}-{number}")
            expected = 502 if number % 3 == 2 else 200
            if answer.status != expected:
                raise Failure(f"{answer.status} from route {number} after {generation} reloads, not {expected}")

    await ask(0, range(WIDTH))
    page = len((await gateway.page()).text)
    await asyncio.sleep(1)
    descriptors = gateway.descriptors()
    resident = 0
    for generation in range(1, ROUNDS + 1):
        await gateway.reload(new_names(generation, opened, closed))
        await ask(generation, range(ASKED))
        if generation % 50 == 20:
            later = len((await gateway.page()).text)
            if generation == SETTLED:
                resident = gateway.resident()
            place.notes.append(
                f"after {generation} reloads: page {later / 1e6:.2f} MB, {gateway.descriptors()} descriptors, "
                f"{gateway.resident() / 1024:.1f} MiB"
            )
    # Making a page takes memory, as it did before the other reading.
    await gateway.page()
    last_resident = gateway.resident()
    # As the descriptors of the first file were counted after a request to each of its routes, so are those of the last.
    await ask(ROUNDS, range(WIDTH))
    last_page = len((await gateway.page()).text)
    await asyncio.sleep(1)
    last_descriptors = gateway.descriptors()
    growth = last_resident / resident
    return [
        Bar(f"page {page / 1e6:.2f} -> {last_page / 1e6:.2f} MB", last_page <= 2 * page),
        Bar(f"descriptors {descriptors} -> {last_descriptors}", abs(last_descriptors - descriptors) <= 5),
        Bar(f"memory {resident / 1024:.1f} -> {last_resident / 1024:.1f} MiB ({growth:.2f}x)", growth <= 1.1),
    ]


def many_routes(generation: int, port: int) -> str:
    """A thousand routes, whose upstreams are new with each file except for that of the load."""
    routes = []
    for number in range(1, ROUTES):
        address = f"127.{1 + generation}.{number // 250}.{1 + number % 250}:{port}"
        routes.append((f"r{number}", address, f"u{generation}-{number}" if number % 2 else ""))
    return config(routes, f"  - {{ name: load, upstream: http://127.0.0.1:{port} }}")


@row("reloads-under-load", f"{BUSY_ROUNDS} reloads of {ROUTES} routes: 0 failed, no turn > 20 ms, a reload <= 200 ms")
async def reloads_under_load(place: Place) -> list[Bar]:
    port = free_port()
    await nginx(place, [port])
    buckets = "--metrics.buckets=weir_event_loop_lag_seconds=0.001,0.005,0.01,0.02,0.05,0.1,0.2,0.5,1"
    gateway = await Gateway.start(place, many_routes(0, port), buckets)
    files = [many_routes(generation, port) for generation in range(1, QUIET_ROUNDS + BUSY_ROUNDS + 1)]
    spent = gateway.processor_time()
    quiet = sorted([await gateway.reload(file) for file in files[:QUIET_ROUNDS]])
    spent = (gateway.processor_time() - spent) / QUIET_ROUNDS
    wrk = await Wrk(place, f"http://{gateway.address}/", 75).begin()
    before = await late_turns(gateway)
    await asyncio.sleep(20)
    between = await late_turns(gateway)
    times = []
    for file in files[QUIET_ROUNDS:]:
        times.append(await gateway.reload(file))
        await asyncio.sleep(max(0, 0.5 - times[-1]))
    after = await late_turns(gateway)
    loaded = await wrk.end()
    late = after[TURN] - between[TURN]
    worst = max((bound for bound, count in after.items() if count > between[bound]), default=0)
    place.notes += [
        f"without load, a reload takes {quiet[QUIET_ROUNDS // 2] * 1000:.0f} ms and {spent * 1000:.0f} ms of CPU; "
        f"under load {sorted(times)[BUSY_ROUNDS // 2] * 1000:.0f} ms (medians)",
        f"turns > 20 ms in 20 s of load before the reloads: {between[TURN] - before[TURN]:.0f}; "
        f"with the reloads {after.get(worst, 0) - between.get(worst, 0):.0f} > {worst * 1000:.0f} ms",
    ]
    return [
        Bar(f"{loaded.failed} of {loaded.requests} failed", loaded.failed == 0),
        Bar(f"{late:.0f} turns > 20 ms", late == 0),
        Bar(f"longest reload {max(times) * 1000:.0f} ms", max(times) <= 0.2),
    ]


async def late_turns(gateway: Gateway) -> dict[float, float]:
    """How many turns of the workers' loops were longer than each bucket's bound."""
    page = await gateway.page()
    late: dict[float, float] = {}
    for labels, count in page.samples("weir_event_loop_lag_seconds_count"):
        if not labels["loop"].startswith("gateway"):
            continue
        for bucket, within in page.samples("weir_event_loop_lag_seconds_bucket", loop=labels["loop"]):
            bound = float(bucket["le"])
            late[bound] = late.get(bound, 0) + count - within
    return late
