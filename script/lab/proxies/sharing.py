"""The rows about requests for `http` URLs: how many connections to a proxy they share, and what they cost."""

import statistics
from collections.abc import Awaitable, Callable

from lab.client import get
from lab.endure.rows import Bar
from lab.load import send
from lab.processes import Failure, Place, free_port
from lab.proxies.scripted import Recorder
from lab.proxies.ways import Config, Here, Way, server_context
from lab.servers import nginx, start_nginx

ORIGINS = 50
REQUESTS, CALLERS = 10_000, 16
PAIRS, MOST = 11, 1.15
"""The number of comparisons, and the largest share of the direct requests' processor time."""


def free_ports(count: int) -> list[int]:
    found: set[int] = set()
    while len(found) < count:
        found.add(free_port())
    return sorted(found)


def routes(prefix: str, ports: list[int], **keys: object) -> list[Config]:
    return [
        {
            "name": f"{prefix}-{port}",
            "match": {"path": path(prefix, port)},
            "upstream": {"url": f"http://127.0.0.1:{port}", **keys},
        }
        for port in ports
    ]


def path(prefix: str, port: int) -> str:
    return f"/{prefix}/{port}"


def requests(prefix: str, ports: list[int]) -> Callable[[int], tuple[str, str]]:
    return lambda number: ("GET", path(prefix, ports[number % len(ports)]))


async def shared(here: Here) -> list[Bar]:
    """One caller, and one worker: so nothing but the proxy's connections is shared."""
    ports = free_ports(ORIGINS)
    await nginx(here.place, ports, name="shared-origins")
    bars = []
    for scheme in ("http", "https"):
        proxy = await Recorder(server_context(here.pair) if scheme == "https" else None).start()
        way = Way("recorder", scheme, "", proxy.address)
        config = {"proxy": way.config(here.pair), "routes": routes("shared", ports)}
        gateway = await here.gateway(f"shared-{scheme}", config, workers=1)
        counts = await send(gateway.address, 2 * ORIGINS, 1, requests("shared", ports))
        idle = proxy.connections
        counts += await send(gateway.address, 4 * ORIGINS, CALLERS, requests("shared", ports))
        await gateway.process.end()
        good = counts["200"] == counts.total() == len(proxy.asked)
        bars += [
            Bar(f"{scheme}: {counts['200']} of {counts.total()} requests to {ORIGINS} origins good", good),
            Bar(
                f"by one caller over {idle} connections, by {CALLERS} over {proxy.connections}",
                idle == 1 and proxy.connections <= CALLERS + 1,
            ),
        ]
    return bars


async def cost(here: Here) -> list[Bar]:
    """Compares in pairs, of which either may be first."""
    ports, proxy, status = free_ports(ORIGINS), free_port(), free_port()
    await nginx(here.place, ports, name="cost-origins")
    await forward_proxy(here.place, proxy, status)
    config = {
        "routes": routes("direct", ports) + routes("proxied", ports, proxy=f"http://127.0.0.1:{proxy}"),
    }
    gateway = await here.gateway("cost", config)
    number = REQUESTS // 10 if here.short else REQUESTS
    pairs = 2 if here.short else PAIRS

    async def spent(prefix: str) -> float:
        before = gateway.processor_time()
        counts = await send(gateway.address, number, CALLERS, requests(prefix, ports))
        if counts["200"] != number:
            raise Failure(f"{prefix}: {dict(counts)}")
        return (gateway.processor_time() - before) / number

    for prefix in ("direct", "proxied"):
        await spent(prefix)
    accepted = await accepts(status)
    measured = [await pair(spent, turn % 2 == 1) for turn in range(pairs)]
    more = await accepts(status) - accepted - 1
    ratios = [proxied / direct for direct, proxied in measured]
    direct, proxied = (statistics.median(times) * 1e6 for times in zip(*measured))
    median = statistics.median(ratios)
    await gateway.process.end()
    here.place.notes.append(f"cost: ratios {', '.join(f'{ratio:.3f}' for ratio in sorted(ratios))}")
    return [
        Bar(
            f"{number} requests to {ORIGINS} origins: {median:.3f} of direct ({proxied:.1f} and {direct:.1f} µs)",
            here.short or median <= MOST,
        ),
        Bar(f"{more:.0f} new connections to the proxy in {pairs} turns", here.short or more <= CALLERS),
    ]


async def pair(spent: Callable[[str], Awaitable[float]], proxied_first: bool) -> tuple[float, float]:
    """Those of direct requests, and those through the proxy."""
    if proxied_first:
        proxied = await spent("proxied")
        return await spent("direct"), proxied
    direct = await spent("direct")
    return direct, await spent("proxied")


async def forward_proxy(place: Place, port: int, status: int) -> None:
    """An nginx that takes requests in absolute form. It counts its connections at the port `status`."""
    http = f"""  keepalive_requests 100000000;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_pass http://$http_host$uri;
      proxy_http_version 1.1;
      proxy_pass_header Server;
      proxy_pass_header Date;
    }}
  }}
  server {{
    listen 127.0.0.1:{status};
    location / {{ stub_status; }}
  }}
"""
    process = await start_nginx(place, "forward-proxy", http)
    await process.accepts(f"127.0.0.1:{port}")


async def accepts(status: int) -> int:
    """The connections that were accepted so far, that of the question among them."""
    return int((await get(f"http://127.0.0.1:{status}/")).decode().splitlines()[2].split()[0])
