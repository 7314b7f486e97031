"""The view of the fleet: two Prometheus, two Alertmanagers as a cluster, VictoriaMetrics."""

import json
import re
import urllib.parse
from pathlib import Path
from statistics import fmean

from alertmanager import SHIPPED_ROUTES
from instances import Instance, swap
from processes import Failure, free_port
from prometheus import SHIPPED_RULES, get, ready
from relay import Relay
from row import Place
from rules import shortened
from verdicts import Alert, alert

SHIPPED = Path("deploy/prometheus/fleet.yml")
REPLICAS = ("a", "b")
MEAN = 5
"""Seconds whose values are averaged: what is measured between two moments depends on the moments."""


class Database:
    """A server that answers queries as Prometheus does."""

    name: str
    address: str

    async def query(self, expression: str, at: float | None = None) -> list[tuple[dict[str, str], float]]:
        """An instant vector: labels and values."""
        asked = {"query": expression, "nocache": "1"} | ({"time": f"{at:.3f}"} if at else {})
        answer = json.loads(await get(f"http://{self.address}/api/v1/query?{urllib.parse.urlencode(asked)}"))
        return [(series["metric"], float(series["value"][1])) for series in answer["data"]["result"]]

    async def value(self, expression: str, at: float | None = None) -> float:
        """The one value there is, or NaN."""
        vector = await self.query(expression, at)
        return vector[0][1] if len(vector) == 1 else float("nan")

    async def mean(self, expression: str, before: float) -> float:
        return fmean([await self.value(expression, before - second) for second in range(MEAN)])


class Victoria(Database):
    def __init__(self, place: Place, scrape: float) -> None:
        self.name = "VictoriaMetrics"
        self.place = place
        self.scrape = scrape
        self.address = f"127.0.0.1:{free_port()}"

    async def start(self) -> None:
        process = await self.place.processes.start(
            "victoria-metrics",
            "victoria-metrics",
            f"-httpListenAddr={self.address}",
            f"-storageDataPath={self.place.directory / 'victoria-metrics'}",
            f"-dedup.minScrapeInterval={self.scrape:g}s",
            "-search.latencyOffset=1s",
            "-memory.allowedBytes=256MB",
            "-loggerLevel=WARN",
        )
        await ready(process, f"http://{self.address}/health")


class Prometheus(Database):
    """One of the two, with the configuration that is shipped: at other ports, and quicker."""

    def __init__(self, place: Place, replica: str, instances: list[Instance], divisor: int) -> None:
        self.name = f"Prometheus {replica}"
        self.place = place
        self.replica = replica
        self.divisor = divisor
        self.address = f"127.0.0.1:{free_port()}"
        self.relays = {one.name: Relay("127.0.0.1", one.metrics) for one in instances}

    async def start(self, alertmanagers: list[str], storage: str) -> None:
        for relay in self.relays.values():
            await relay.open()
        directory = self.place.directory / f"prometheus-{self.replica}"
        (directory / "rules").mkdir(parents=True)
        for rules in SHIPPED_RULES.glob("*.yml"):
            (directory / "rules" / rules.name).write_text(shortened(rules.read_text(), self.divisor))
        text = shortened(SHIPPED.read_text(), self.divisor)
        text = swap(r"targets: \[.*:9093.*\]", f"targets: {json.dumps(alertmanagers)}", text)
        text = swap(r"127\.0\.0\.1:8428", storage, text)
        # Both have the same labels, though their ways to the instances differ.
        targets = "".join(
            f'      - {{ targets: ["127.0.0.1:{relay.port}"], labels: {{ instance: weir-{name} }} }}\n'
            for name, relay in self.relays.items()
        )
        text = swap(r" +- targets: \[.*:9481.*\]\n", targets, text)
        configuration = directory / "prometheus.yml"
        configuration.write_text(text)
        process = await self.place.processes.start(
            f"prometheus-{self.replica}",
            *("env", f"REPLICA={self.replica}"),
            "prometheus",
            f"--config.file={configuration}",
            f"--web.listen-address={self.address}",
            f"--storage.tsdb.path={directory / 'data'}",
            "--enable-feature=expand-external-labels",
            # At the end VictoriaMetrics ends as well, and takes nothing more.
            "--storage.remote.flush-deadline=1s",
            "--log.level=warn",
        )
        await ready(process, f"http://{self.address}/-/ready")

    async def alerts(self) -> dict[Alert, str]:
        """Which alerts are pending or firing."""
        return {alert(labels): labels["alertstate"] for labels, _ in await self.query("ALERTS")}


class Alertmanager:
    """One of the two, with the routes that are shipped."""

    def __init__(self, place: Place, replica: str, divisor: int) -> None:
        self.place = place
        self.replica = replica
        self.divisor = divisor
        self.address, self.cluster = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        self.lives = 0

    async def start(self, webhook: str, peer: str) -> None:
        self.lives += 1
        routes = shortened(SHIPPED_ROUTES.read_text(), self.divisor)
        file = self.place.file(
            f"alertmanager-{self.replica}.yml", re.sub(r"(?<=url: )http://[^/\s]+", webhook, routes)
        )
        self.process = await self.place.processes.start(
            f"alertmanager-{self.replica}-{self.lives}",
            "prometheus-alertmanager",
            f"--config.file={file}",
            f"--storage.path={self.place.directory / f'alertmanager-{self.replica}'}",
            f"--web.listen-address={self.address}",
            f"--cluster.listen-address={self.cluster}",
            f"--cluster.peer={peer}",
            # The second tells what the first has not told by then. A machine that is short of time is late by seconds, whatever
            # the durations of the rules. It has to be less than the interval of a group, or the second tells of what is over.
            f"--cluster.peer-timeout={max(15 / self.divisor, 4):g}s",
            "--log.level=warn",
        )
        await ready(self.process, f"http://{self.address}/-/ready")

    async def alerts(self) -> set[Alert]:
        listed = json.loads(await get(f"http://{self.address}/api/v2/alerts?active=true"))
        return {alert(one["labels"]) for one in listed}

    async def check_cluster(self) -> None:
        status = json.loads(await get(f"http://{self.address}/api/v2/status"))["cluster"]
        if len(status.get("peers", [])) != 2:
            raise Failure(f"alertmanager-{self.replica} has not found the other one: {status}")
