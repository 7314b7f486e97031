"""A Prometheus with the shipped rules, what it takes, and the bounds of that."""

import asyncio
import json
import re
import signal
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.client import get
from lab.gateway import Page, memory
from lab.processes import Place
from lab.prometheus import Prometheus

SCRAPE = 15
CPU = "process_cpu_seconds_total"
SERIES = 900_000
ALL_RULES, ALERTS, MEMORY = 5.0, 1.0, 6 << 30
"""The bounds for so many series: seconds of the evaluations between two scrapes, and bytes."""
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


def lines(size: str, targets: int, figures: Figures) -> Iterator[str]:
    value = figures.values
    yield (
        f"{size}: {value['head series']:,.0f} series in Prometheus, {value['series']:,.0f} on a page; a page has"
        f" {value['plain'] / 1000:,.0f} KB, compressed {value['gzip'] / 1000:,.1f} KB"
    )
    yield (
        f"{size}: a scrape takes {value['scrape p50'] * 1000:.0f} ms, p99 {value['scrape p99'] * 1000:.0f} ms;"
        f" {value['kept']:,.0f} of {value['scraped']:,.0f} series are kept"
    )
    yield (
        f"{size}: in {SCRAPE} s all rules take {figures.all_rules():.2f} s, of which alerts {figures.alerts():.2f} s;"
        f" {value['missed']:.0f} evaluations were left out"
    )
    dearest = sorted(figures.rules.items(), key=lambda item: -item[1].each_round)[:8]
    for name, rules in [*figures.groups.items(), *dearest]:
        least, most = min(rules.seconds), max(rules.seconds)
        yield f"{size}:   {rules.median:7.3f} s ({least:.3f} to {most:.3f}) every {rules.interval:.0f} s: {name}"
    yield (
        f"{size}: Prometheus has {value['resident'] / 1e9:.2f} GB, at most {value['peak'] / 1e9:.2f} GB,"
        f" {value['peak'] / value['head series']:,.0f} bytes for a series"
    )
    evaluating = (value["cpu"] - value["scraping"]) * SCRAPE
    yield (
        f"{size}: processor time: {value['cpu']:.2f} s per second, of which scrapes {value['scraping']:.2f} s;"
        f" rules {evaluating:.1f} s in {SCRAPE} s"
    )


def held(figures: Figures) -> Iterator[tuple[str, bool]]:
    """Each bound, and whether it is held.

    >>> slow, quick = Rules(15, [2.0, 14.0, 15.0]), Rules(60, [4.0])
    >>> values = {"peak": 1e10, "head series": 1_800_000}
    >>> for bar, holds in held(Figures({"a": slow}, {"alerting b (a 1)": quick}, values)):
    ...     print(bar, holds)
    900,000 series: all rules in 7.00 s, not 5 s False
    900,000 series: alerts in 0.50 s, not 1 s True
    900,000 series: 5.0 GB, not 6.4 GB True
    """
    share = SERIES / figures.values["head series"]
    rules, alerts, peak = (value * share for value in (figures.all_rules(), figures.alerts(), figures.values["peak"]))
    yield f"{SERIES:,} series: all rules in {rules:.2f} s, not {ALL_RULES:.0f} s", rules < ALL_RULES
    yield f"{SERIES:,} series: alerts in {alerts:.2f} s, not {ALERTS:.0f} s", alerts < ALERTS
    yield f"{SERIES:,} series: {peak / 1e9:.1f} GB, not {MEMORY / 1e9:.1f} GB", peak < MEMORY
