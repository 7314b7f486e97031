"""Endpoints that are found: by names that change their addresses, and by a file that is replaced."""

import asyncio
import json
import time
from pathlib import Path

from lab.client import Connection
from lab.endure.rows import Bar, row
from lab.gateway import Gateway, flow
from lab.load import Wrk
from lab.processes import Failure, Place, free_port
from lab.servers import Names, nginx, write_anew

ADDRESSES = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
CHANGES = 60
AWAY = 60
"""Seconds without a name server."""
REPLACEMENTS = 50


ESTABLISHED, CLOSE_WAIT = "01", "08"


def connected(port: int) -> set[str]:
    """The IPv4 addresses with a connection to this port that its near end has not closed. Only the gateway makes such
    connections, since each row has ports of its own."""
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, _, remote, state, *_ = line.split()
        address, _, number = remote.partition(":")
        if int(number, 16) == port and state in (ESTABLISHED, CLOSE_WAIT):
            found.add(".".join(str(octet) for octet in reversed(bytes.fromhex(address))))
    return found


class Watch:
    """Notes every 50 ms to which addresses there are connections."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: list[tuple[float, set[str]]] = []
        self.task = asyncio.ensure_future(self.watch())

    async def watch(self) -> None:
        while True:
            self.seen.append((time.time(), connected(self.port)))
            await asyncio.sleep(0.05)

    def last(self, address: str, since: float, until: float) -> float:
        """When there was last a connection in that time; its begin if there was none."""
        return max((at for at, found in self.seen if since <= at < until and address in found), default=since)


@row(
    "names",
    f"{CHANGES} changes of an address, {AWAY} s without a name server: 0 failed, new ones used within 2 s, "
    "gone ones without connections within 1 s",
)
async def names(place: Place) -> list[Bar]:
    port = free_port()
    await nginx(place, [port])
    server = Names(place)
    server.say("moving.test", ADDRESSES[0])
    await server.start()
    config = f"""upstreams:
  - name: moving
    endpoints: [moving.test:{port}]
    resolve: {{ servers: {flow([server.server])}, family: ipv4 }}
routes:
  - {{ name: moving, upstream: moving }}
"""
    gateway = await Gateway.start(place, config)
    wrk = await Wrk(place, f"http://{gateway.address}/logged", CHANGES + 4).begin()
    watch = Watch(port)
    await asyncio.sleep(1)
    changes = []
    began = time.time()
    for number in range(1, CHANGES + 1):
        await asyncio.sleep(began + number - time.time())
        server.say("moving.test", ADDRESSES[number % len(ADDRESSES)])
        changes.append((time.time(), number))
    changing = await wrk.end()
    watch.task.cancel()

    await server.stop()
    wrk = await Wrk(place, f"http://{gateway.address}/", AWAY).begin()
    alone = await wrk.end()
    lookups = (await gateway.page()).by("result", "weir_upstream_discoveries_total")
    used, left, unused = delays(place.directory / "nginx.access", watch, changes)
    seen = set[str]().union(*(found for _, found in watch.seen))
    if not seen.issuperset(ADDRESSES):
        raise Failure(f"connections were only seen to {sorted(seen)}")
    place.notes.append(f"{changing.requests} requests with changes, {alone.requests} without a name server; {lookups}")
    return [
        Bar(f"{changing.failed} failed", changing.failed == 0),
        Bar(f"a new address is used within {max(used):.2f} s, {unused} never", max(used) <= 2 and unused == 0),
        Bar(f"connections of a gone one end within {max(left):.2f} s", max(left) <= 1),
        Bar(f"{alone.failed} failed without a name server", alone.failed == 0 and lookups.get("failed", 0) > 0),
    ]


def delays(log: Path, watch: Watch, changes: list[tuple[float, int]]) -> tuple[list[float], list[float], int]:
    """For each change: how long until the new address was used, and how long after its last request the one before kept
    a connection. An address comes back after four changes; so its times before and after are apart."""
    requests: dict[str, list[float]] = {address: [] for address in ADDRESSES}
    for line in log.read_text().splitlines():
        at, address = line.split()
        requests[address].append(float(at))
    used, left, unused = [], [], 0
    for at, number in changes:
        new, old = ADDRESSES[number % len(ADDRESSES)], ADDRESSES[(number - 1) % len(ADDRESSES)]
        until = at + len(ADDRESSES) - 1
        # nginx writes the time of its turn, which may be some milliseconds old.
        first = min((one for one in requests[new] if at - 0.01 <= one < until), default=None)
        if first is None:
            unused += 1
        else:
            used.append(max(0, first - at))
        last = max((one for one in requests[old] if at - 1 <= one < until - 0.1), default=at)
        left.append(watch.last(old, last, until - 0.1) - last)
    return used, left, unused


KINDS = ("rename", "in place", "broken", "link", "empty for a while")


class Targets:
    """A file of the form of Prometheus' `file_sd`, and the ways in which it is replaced."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "targets.json"
        self.generation = 0

    async def replace(self, kind: str, port: int) -> None:
        self.generation += 1
        text = json.dumps([{"targets": [f"127.0.0.1:{port}"], "labels": {}}])
        if kind == "rename":
            write_anew(self.path, text)
        elif kind == "link":
            file = self.path.parent / f"targets-{self.generation}.json"
            file.write_text(text)
            link = self.path.parent / "link"
            link.symlink_to(file.name)
            link.rename(self.path)
        elif kind == "broken":
            write_anew(self.path, text[: len(text) // 2])
        else:
            with self.path.open("w") as file:
                # The gateway looks every second: now and then it finds nothing, or half.
                await asyncio.sleep(1.1 if kind == "empty for a while" else 0)
                file.write(text[:20])
                file.flush()
                await asyncio.sleep(0.1)
                file.write(text[20:])


@row("files", f"{REPLACEMENTS} replacements: never 0 endpoints, each used within 2 s")
async def files(place: Place) -> list[Bar]:
    ports = [free_port() for _ in range(4)]
    await nginx(place, ports)
    targets = Targets(place.directory)
    await targets.replace("rename", ports[0])
    config = f"""upstreams:
  - {{ name: listed, file: {targets.path} }}
routes:
  - {{ name: listed, upstream: listed }}
"""
    gateway = await Gateway.start(place, config)
    least = [1.0]

    async def count() -> None:
        while True:
            page = await gateway.page()
            least.append(page.sum("weir_upstream_endpoints", upstream="listed"))
            await asyncio.sleep(0.05)

    counting = asyncio.ensure_future(count())
    connection, wrong, current = Connection(gateway.address), 0, ports[0]
    delays = {kind: [0.0] for kind in KINDS}
    for number in range(1, REPLACEMENTS + 1):
        kind, port = KINDS[number % len(KINDS)], ports[number % len(ports)]
        await targets.replace(kind, port)
        began = time.monotonic()
        if kind == "broken":
            port = current
        while time.monotonic() < began + (1.5 if kind == "broken" else 5):
            answer = await connection.ask()
            arrived = answer.fields["x-server"].endswith(f":{port}")
            # A broken file must change nothing, however long it stays.
            wrong += answer.status != 200 or (kind == "broken" and not arrived)
            if arrived and kind != "broken":
                break
            await asyncio.sleep(0.01)
        if kind != "broken":
            delays[kind].append(time.monotonic() - began)
        current = port
    counting.cancel()
    longest = max(max(times) for times in delays.values())
    place.notes += [f"{kind}: used within {max(times):.2f} s" for kind, times in delays.items() if kind != "broken"]
    place.notes.append(f"{(await gateway.page()).by('result', 'weir_upstream_discoveries_total')}")
    return [
        Bar(f"never fewer than {min(least):.0f} endpoints", min(least) > 0),
        Bar(f"{wrong} wrong answers", wrong == 0),
        Bar(f"a change is used within {longest:.2f} s", longest <= 2),
    ]
