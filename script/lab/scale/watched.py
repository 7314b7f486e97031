"""A Prometheus with the shipped rules, and what it takes."""

import asyncio
import json
import re
import signal
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.client import get
from lab.gateway import memory
from lab.page import Page
from lab.processes import Place
from lab.prometheus import Prometheus

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


class Watched(Prometheus):
    def __init__(self, place: Place, targets: Path, relabelling: Sequence[dict[str, object]] = ()) -> None:
        super().__init__(place, "prometheus")
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

    async def begin(self) -> None:
        """Without the rules."""
        await self.start(json.dumps(self.configuration, indent=2))

    async def watch_scrapes(self, warm_up: float, seconds: float) -> float:
        """The processor time per second of scrapes alone. From then on it has the rules."""
        await asyncio.sleep(warm_up)
        before = (await self.page()).value(CPU)
        await asyncio.sleep(seconds)
        spent = (await self.page()).value(CPU) - before
        self.configure(json.dumps(self.configuration | {"rule_files": ["rules/*.yml"]}, indent=2))
        self.process.process.send_signal(signal.SIGHUP)
        return spent / seconds

    async def watch(self, warm_up: float, seconds: float) -> Figures:
        """Looks at it between the two moments, twice for each evaluation."""
        figures = Figures()
        await asyncio.sleep(warm_up)
        before = await self.page()
        for _ in range(round(seconds / SCRAPE * 2)):
            await asyncio.sleep(SCRAPE / 2)
            self.process.check()
            figures.add((await self.api("rules"))["groups"], group_durations((await self.page()).text))
        after = await self.page()
        figures.values = {
            "head series": after.value("prometheus_tsdb_head_series"),
            "peak": memory(self.process.pid, "VmHWM") * 1024,
            "resident": after.value("process_resident_memory_bytes"),
            "cpu": (after.value(CPU) - before.value(CPU)) / seconds,
            "missed": after.value("prometheus_rule_group_iterations_missed_total"),
            "up": await self.value("sum(up)"),
            "scraped": await self.value("avg(scrape_samples_scraped)"),
            "kept": await self.value("avg(scrape_samples_post_metric_relabeling)"),
            "scrape p50": await self.value("quantile(0.5, scrape_duration_seconds)"),
            "scrape p99": await self.value("quantile(0.99, scrape_duration_seconds)"),
        }
        return figures

    async def page(self) -> Page:
        return Page((await get(f"http://{self.address}/metrics")).decode())
