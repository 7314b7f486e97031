"""Measures what a fleet's metrics cost a Prometheus. Called by script/scale."""

import argparse
import asyncio
import gzip
import json
import re
import shutil
import signal
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import formula
from expressions import shipped
from history import write
from processes import Failure, Process, Processes
from relabelling import keeping, relabelling
from table import held, lines
from template import gateway_page
from watched import Figures, Prometheus

SCRAPES = 45, 60
WARM_UP, WATCHED = 120, 90
"""Seconds before and of the measurement: of scrapes alone, and with the rules."""
SIMULATED = 2_000_000
"""Series that the simulator holds. Beyond, targets share them."""


@dataclass(frozen=True)
class Size:
    targets: int
    destinations: int
    relabelled: bool = False

    def __str__(self) -> str:
        return f"{self.targets} x {self.destinations}" + (", relabelled" if self.relabelled else "")


ALL = [Size(1000, 3), Size(60, 50), Size(1000, 50, relabelled=True)]
BOUND = ALL[:2]


class Scale:
    def __init__(self, program: str, simulator: str, directory: Path, processes: Processes) -> None:
        self.program = program
        self.simulator = simulator
        self.directory = directory
        self.processes = processes

    async def measure(self, size: Size) -> bool:
        """False if a bound is missed."""
        page = await gateway_page(self.program, self.directory, self.processes, size.destinations)
        rules = shipped()
        identities = {line.rpartition(" ")[0] for line in page.splitlines() if not line.startswith("#")}
        formula_holds(size, len(identities))
        steps = relabelling(keeping(rules)) if size.relabelled else []
        if size.relabelled and not fits(size):
            return True
        targets = await self.simulate(size, page, len(identities))
        plain, zipped = await asyncio.to_thread(compare, targets[0], identities)
        prometheus = Prometheus(self.directory, self.directory / "targets.json", steps)
        shutil.rmtree(prometheus.storage, ignore_errors=True)
        prometheus.storage.mkdir()
        try:
            if not steps:
                began = time.monotonic()
                past = await write(page, rules, targets, int(time.time()), self.directory, prometheus.storage)
                seconds = time.monotonic() - began
                print(f"{size}: a past of {past / 1e6:.0f} million samples took {seconds:.0f} s", flush=True)
            await prometheus.start(self.processes)
            scraping = await prometheus.watch_scrapes(*SCRAPES)
            figures = await prometheus.watch(WARM_UP, WATCHED)
        finally:
            await self.processes.stop()
            # They have gigabytes.
            shutil.rmtree(prometheus.storage, ignore_errors=True)
            (self.directory / "history.txt").unlink(missing_ok=True)
        figures.values |= {"plain": plain, "gzip": zipped, "series": len(identities), "scraping": scraping}
        for line in lines(str(size), size.targets, figures):
            print(line, flush=True)
        return self.judge(size, figures)

    def judge(self, size: Size, figures: Figures) -> bool:
        if figures.values["up"] != size.targets:
            raise Failure(f"{figures.values['up']:.0f} of {size.targets} targets can be scraped")
        missed = [bar for bar, holds in held(figures) if not holds] if size in BOUND else []
        for bar in missed:
            print(f"{size}: MISSED: {bar}", flush=True)
        return not missed

    async def simulate(self, size: Size, page: str, series: int) -> list[str]:
        """Starts the targets. Returns their addresses."""
        template, file = self.directory / f"page-{size.destinations}.txt", self.directory / "targets.json"
        template.write_text(page)
        file.unlink(missing_ok=True)
        registries = max(1, min(size.targets, SIMULATED // series))
        simulator: Process = await self.processes.start(
            "simulator", self.simulator, template, size.targets, registries, file
        )
        await simulator.logged("targets=")
        return addresses(file.read_text())


def addresses(file: str) -> list[str]:
    return [address for group in json.loads(file) for address in group["targets"]]


def formula_holds(size: Size, series: int) -> None:
    """Fails if docs/scale.md computes from another page than a gateway's of today."""
    computed = formula.ALL.series(1, size.destinations)
    if abs(series - computed) > computed / 50:
        raise Failure(f"{size}: a page has {series} series; script/scale.d/formula.py says {computed}")


def fits(size: Size) -> bool:
    """Says so where the machine's memory is not enough for the kept series."""
    needed = formula.KEPT.series(size.targets, size.destinations) * formula.PER_SERIES
    free = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    available = int(free[1]) * 1024 if free else 0
    if needed > available:
        print(f"{size}: NOT MEASURED: takes {needed / 1e9:.0f} GB; {available / 1e9:.0f} GB are there", flush=True)
    return needed <= available


def compare(address: str, identities: set[str]) -> tuple[int, int]:
    """Fails if the simulated page has other series than the gateway's. Returns its bytes, plain and compressed."""
    request = urllib.request.Request(f"http://{address}/metrics", headers={"Accept-Encoding": "gzip"})
    # The first page has no metrics of scrapes yet.
    for _ in range(2):
        with urllib.request.urlopen(request, timeout=60) as response:
            body = response.read()
    text = gzip.decompress(body)
    simulated = {line.rpartition(" ")[0] for line in text.decode().splitlines() if not line.startswith("#")}
    if different := simulated ^ identities:
        raise Failure(f"the simulated page differs from the gateway's: {sorted(different)[:10]}")
    return len(text), len(body)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--simulator", required=True)
    parser.add_argument("--directory", required=True, type=Path)
    parser.add_argument("--targets", type=int)
    parser.add_argument("--destinations", type=int)
    parser.add_argument("all", nargs="?", choices=["all"])
    return parser.parse_args()


async def main() -> int:
    given = arguments()
    sizes = ALL
    if given.targets or given.destinations:
        sizes = [Size(given.targets or 1000, given.destinations or 3)]
    processes = Processes(given.directory)
    ended = asyncio.current_task()
    assert ended
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.cancel)
    scale = Scale(given.program, given.simulator, given.directory, processes)
    try:
        return 0 if all([await scale.measure(size) for size in sizes]) else 1
    except Failure as failure:
        print(f"script/scale: {failure}", file=sys.stderr)
        return 1
    except asyncio.CancelledError:
        return 130
    finally:
        await processes.stop()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
