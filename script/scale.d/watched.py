"""A Prometheus with the shipped rules, and what it takes."""

import asyncio
import json
import re
import signal
import statistics
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from expressions import RULES
from processes import Failure, Process, Processes, free_port

SCRAPE = 15
CPU = "process_cpu_seconds_total"
GROUP = re.compile(r'^prometheus_rule_group_last_duration_seconds\{rule_group="[^"]*;([^";]+)"\} (\S+)$', re.MULTILINE)


@dataclass
class Rules:
    """A group, or a rule of one."""

    interval: float
    """Seconds between two evaluations."""
    seconds: list[float] = field(default_factory=list)
    """The costs of evaluations."""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def each_round(self) -> float:
        """Its share of a round, which is the time between two scrapes."""
        return self.median * SCRAPE / self.interval


@dataclass
class Figures:
    """The figures of a Prometheus while it was watched."""

    groups: dict[str, Rules] = field(default_factory=dict)
    rules: dict[str, Rules] = field(default_factory=dict)
    """By type and name."""
    values: dict[str, float] = field(default_factory=dict)

    def all_rules(self) -> float:
        return sum(group.each_round for group in self.groups.values())

    def alerts(self) -> float:
        return sum(rule.each_round for name, rule in self.rules.items() if name.startswith("alerting "))

    def dearest(self, count: int) -> list[tuple[str, Rules]]:
        """The rules that take longest."""
        return sorted(self.rules.items(), key=lambda item: -item[1].each_round)[:count]

    def add(self, groups: list[dict], durations: dict[str, float]) -> None:
        """The state of the rules by Prometheus, and the seconds of each group."""
        for group in groups:
            name, interval = group["name"], group["interval"]
            self.groups.setdefault(name, Rules(interval)).seconds.append(durations[name])
            for number, rule in enumerate(group["rules"], 1):
                called = f"{rule['type']} {rule['name']} ({name} {number})"
                self.rules.setdefault(called, Rules(interval)).seconds.append(rule["evaluationTime"])


def group_durations(page: str) -> dict[str, float]:
    """
    >>> group_durations('prometheus_rule_group_last_duration_seconds{rule_group="/rules/a.yml;weir.a"} 0.5\\nx 1\\n')
    {'weir.a': 0.5}
    """
    return {name: float(value) for name, value in GROUP.findall(page)}


def value(page: str, name: str) -> float:
    """The sum, if it has labels.

    >>> value('a 1\\nab{c="d"} 2e3\\nab{c="e"} 1\\n', "ab")
    2001.0
    """
    found = re.findall(rf"^{name}(?:{{.*}})? (\S+)$", page, re.MULTILINE)
    if not found:
        raise Failure(f"Prometheus has no {name}")
    return sum(map(float, found))


class Prometheus:
    def __init__(self, directory: Path, targets: Path, relabelling: Sequence[dict[str, object]] = ()) -> None:
        self.directory = directory
        self.storage = directory / "tsdb"
        self.address = f"127.0.0.1:{free_port()}"
        self.configuration = {
            "global": {"scrape_interval": f"{SCRAPE}s", "evaluation_interval": f"{SCRAPE}s"},
            "scrape_configs": [
                {
                    "job_name": "weir",
                    "file_sd_configs": [{"files": [str(targets)]}],
                    "metric_relabel_configs": list(relabelling),
                }
            ],
        }

    async def start(self, processes: Processes) -> None:
        file = self.configure([])
        self.process: Process = await processes.start(
            "prometheus",
            "prometheus",
            f"--config.file={file}",
            f"--web.listen-address={self.address}",
            f"--storage.tsdb.path={self.storage}",
            "--log.level=warn",
        )
        await self.process.accepts(self.address)

    def configure(self, rules: list[str]) -> Path:
        file = self.directory / "prometheus.yml"
        # JSON is YAML too.
        file.write_text(json.dumps(self.configuration | {"rule_files": rules}, indent=2))
        return file

    async def watch_scrapes(self, warm_up: float, seconds: float) -> float:
        """The processor time per second of scrapes alone. From then on it has the rules."""
        await asyncio.sleep(warm_up)
        before = value(await self.metrics(), CPU)
        await asyncio.sleep(seconds)
        spent = value(await self.metrics(), CPU) - before
        self.configure([str(RULES.absolute() / "*.yml")])
        self.process.process.send_signal(signal.SIGHUP)
        return spent / seconds

    async def watch(self, warm_up: float, seconds: float) -> Figures:
        """Looks at it between the two moments, twice for each evaluation."""
        figures = Figures()
        await asyncio.sleep(warm_up)
        before = await self.metrics()
        for _ in range(round(seconds / SCRAPE * 2)):
            await asyncio.sleep(SCRAPE / 2)
            self.process.check()
            figures.add((await self.ask("rules"))["groups"], group_durations(await self.metrics()))
        await self.conclude(figures, before, seconds)
        return figures

    async def conclude(self, figures: Figures, before: str, seconds: float) -> None:
        after = await self.metrics()
        spent = value(after, CPU) - value(before, CPU)
        status = Path(f"/proc/{self.process.process.pid}/status").read_text()
        peak = re.search(r"VmHWM:\s+(\d+)", status)
        assert peak
        figures.values = {
            "head series": value(after, "prometheus_tsdb_head_series"),
            "peak": int(peak[1]) * 1024,
            "resident": value(after, "process_resident_memory_bytes"),
            "heap": value(after, "go_memstats_heap_inuse_bytes"),
            "cpu": spent / seconds,
            "missed": value(after, "prometheus_rule_group_iterations_missed_total"),
            "up": await self.number("sum(up)"),
            "scraped": await self.number("avg(scrape_samples_scraped)"),
            "kept": await self.number("avg(scrape_samples_post_metric_relabeling)"),
            "scrape p50": await self.number("quantile(0.5, scrape_duration_seconds)"),
            "scrape p99": await self.number("quantile(0.99, scrape_duration_seconds)"),
        }

    async def number(self, query: str) -> float:
        result = (await self.ask(f"query?{urllib.parse.urlencode({'query': query})}"))["result"]
        return float(result[0]["value"][1]) if result else float("nan")

    async def ask(self, path: str) -> dict:
        return json.loads(await self.get(f"/api/v1/{path}"))["data"]

    async def metrics(self) -> str:
        return (await self.get("/metrics")).decode()

    async def get(self, path: str) -> bytes:
        def fetch() -> bytes:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=120) as response:
                return bytes(response.read())

        return await asyncio.to_thread(fetch)
