"""Measures what the metrics of a fleet cost a Prometheus with the shipped rules."""

import argparse
import asyncio
import gzip
import json
import re
import shutil
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from lab import command
from lab.gateway import Gateway, Page
from lab.load import failed, send
from lab.origin import Origin, Request
from lab.processes import Failure, Place
from lab.scale import document
from lab.scale.expressions import keeping, relabelling, shipped
from lab.scale.history import write
from lab.scale.watched import Watched, held, lines

SCRAPES = 45, 60
WARM_UP, WATCHED = 120, 90
"""Seconds before and of the measurement: of scrapes alone, and with the rules."""
SIMULATED = 2_000_000
"""Series that the simulator holds. Beyond, targets share them."""
REQUESTS = 300
"""To each destination, for the page of a real gateway."""
BAD = 50
"""One in so many first tries is answered 503, and every try of one in four of those."""


@dataclass(frozen=True)
class Size:
    targets: int
    destinations: int
    relabelled: bool = False

    def __str__(self) -> str:
        return f"{self.targets} x {self.destinations}" + (", relabelled" if self.relabelled else "")


ALL = [Size(1000, 3), Size(60, 50), Size(1000, 50, relabelled=True)]
BOUND = ALL[:2]


async def measure(size: Size, place: Place, simulator: str) -> list[str]:
    """The bounds that are missed."""
    page = await gateway_page(place, size.destinations)
    rules, series = shipped(), len(page.identities())
    formula_holds(size, series)
    if size.relabelled and not fits(size):
        return []
    steps = relabelling(keeping(rules)) if size.relabelled else []
    targets = await simulate(size, page, place, simulator)
    plain, zipped = await asyncio.to_thread(compare, targets[0], page)
    prometheus = Watched(place, place.directory / "targets.json", steps)
    try:
        if not steps:
            began = time.monotonic()
            past = await write(page, rules, targets, int(time.time()), prometheus.directory)
            seconds = time.monotonic() - began
            print(f"{size}: a past of {past / 1e6:.0f} million samples took {seconds:.0f} s", flush=True)
        await prometheus.begin()
        scraping = await prometheus.watch_scrapes(*SCRAPES)
        figures = await prometheus.watch(WARM_UP, WATCHED)
    finally:
        await place.stop()
        # It has gigabytes.
        shutil.rmtree(prometheus.directory)
    figures.values |= {"plain": plain, "gzip": zipped, "series": series, "scraping": scraping}
    for line in lines(str(size), size.targets, figures):
        print(line, flush=True)
    if figures.values["up"] != size.targets:
        raise Failure(f"{figures.values['up']:.0f} of {size.targets} targets can be scraped")
    return [f"{size}: MISSED: {bar}" for bar, holds in held(figures) if not holds] if size in BOUND else []


async def simulate(size: Size, page: Page, place: Place, simulator: str) -> list[str]:
    """Starts the targets. Returns their addresses."""
    template = place.file(f"page-{size.destinations}.txt", page.text)
    file = place.directory / "targets.json"
    file.unlink(missing_ok=True)
    registries = max(1, min(size.targets, SIMULATED // len(page.identities())))
    command = (simulator, template, size.targets, registries, file)
    await (await place.start("simulator", *command)).logged("targets=")
    return [address for group in json.loads(file.read_text()) for address in group["targets"]]


def configuration(ports: list[int]) -> str:
    """For each destination an entry of upstreams whose name is looked up, and a route."""
    lines = ["upstreams:"]
    lines += [f'  - {{ name: service-{number}, endpoints: ["localhost:{port}"] }}' for number, port in enumerate(ports)]
    lines += ["routes:"]
    lines += [
        f"  - {{ name: route-{number}, match: {{ pathPrefix: /{number}/ }}, upstream: service-{number},"
        " retry: { limit: 2, statusCodes: [503] } }"
        for number in range(len(ports))
    ]
    return "\n".join(lines) + "\n"


class NowAndThen(Origin):
    """Answers 200 with a short body, and now and then 503."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: set[bytes] = set()

    def asked(self, request: Request) -> None:
        request.connection.send(503 if self.fails(request.path) else 200, b"x" * 1024)

    def fails(self, path: bytes) -> bool:
        number = int(path.rpartition(b"/")[2])
        first = path not in self.tried
        self.tried.add(path)
        return number % (4 * BAD) == 0 or first and number % BAD == 0


async def gateway_page(place: Place, destinations: int) -> Page:
    origins = [await NowAndThen().start() for _ in range(destinations)]
    config = configuration([origin.port for origin in origins])
    gateway = await Gateway.start(place, config, name=f"gateway-{destinations}")
    count = REQUESTS * destinations
    answers = await send(
        gateway.address, count, 16, lambda number: ("GET", f"/{number // REQUESTS}/{number % REQUESTS}")
    )
    if set(answers) - {"200", "503"} or not failed(answers):
        raise Failure(f"the gateway answered {dict(answers)}")
    # The first page has no metrics of scrapes yet.
    for _ in range(2):
        page = await gateway.page()
    await gateway.process.end()
    for origin in origins:
        origin.stop()
    return page


def formula_holds(size: Size, series: int) -> None:
    """Fails if docs/scale.md computes from another page than a gateway's of today."""
    computed = document.ALL.series(1, size.destinations)
    if abs(series - computed) > computed / 50:
        raise Failure(f"{size}: a page has {series} series; script/lab/scale/document.py says {computed}")


def fits(size: Size) -> bool:
    """Says so where the machine's memory is not enough for the kept series."""
    needed = document.KEPT.series(size.targets, size.destinations) * document.PER_SERIES
    free = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    available = int(free[1]) * 1024 if free else 0
    if needed > available:
        print(f"{size}: NOT MEASURED: takes {needed / 1e9:.0f} GB; {available / 1e9:.0f} GB are there", flush=True)
    return needed <= available


def compare(address: str, page: Page) -> tuple[int, int]:
    """Fails if the simulated page has other series than the gateway's. Returns its bytes, plain and compressed."""
    request = urllib.request.Request(f"http://{address}/metrics", headers={"Accept-Encoding": "gzip"})
    # The first page has no metrics of scrapes yet.
    for _ in range(2):
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
    text = gzip.decompress(body)
    if different := Page(text.decode()).identities() ^ page.identities():
        raise Failure(f"the simulated page differs from the gateway's: {sorted(different)[:10]}")
    return len(text), len(body)


async def run(place: Place, given: argparse.Namespace) -> list[str]:
    sizes = ALL
    if given.targets or given.destinations:
        sizes = [Size(given.targets or 1000, given.destinations or 3)]
    return [missed for size in sizes for missed in await measure(size, place, given.simulator)]


if __name__ == "__main__":
    options = command.options("scale", __doc__)
    options.add_argument("--simulator", help=argparse.SUPPRESS)
    options.add_argument("--targets", type=int, metavar="N", help="another size, without bounds")
    options.add_argument("--destinations", type=int, metavar="K", help="of each target (3)")
    options.add_argument("--check", action="store_true", help="look only at what docs/scale.md says, in seconds")
    options.add_argument("all", nargs="?", choices=["all"], help=", ".join(map(str, ALL)) + " (the default)")
    given = options.parse_args()
    if given.check:
        sys.exit(document.main())
    command.conduct("scale", command.parsed(options), lambda place: run(place, given))
