"""Debian's Prometheus, which watches with the rules that weir ships, and VictoriaMetrics."""

import json
import urllib.parse
from typing import Any

from lab.client import get
from lab.processes import Place, Process, free_address
from lab.rules import RULES, shortened


class Database:
    """A server that answers queries as Prometheus does."""

    process: Process

    def __init__(self, place: Place, name: str) -> None:
        self.place = place
        self.name = name
        self.directory = place.directory / name
        self.address = free_address()

    async def api(self, call: str, **arguments: object) -> Any:
        url = f"http://{self.address}/api/v1/{call}?{urllib.parse.urlencode(arguments)}"
        return json.loads(await get(url))["data"]

    async def query(self, expression: str, at: float | None = None) -> list[tuple[dict[str, str], float]]:
        """An instant vector: labels and values."""
        when = {} if at is None else {"time": f"{at:.3f}"}
        found = await self.api("query", query=expression, nocache=1, **when)
        return [(series["metric"], float(series["value"][1])) for series in found["result"]]

    async def value(self, expression: str, at: float | None = None) -> float:
        """The one value there is, or NaN."""
        vector = await self.query(expression, at)
        return vector[0][1] if len(vector) == 1 else float("nan")


class Prometheus(Database):
    """Its configuration and data are in a directory of its name."""

    async def start(self, configuration: str, *flags: str, divisor: int = 1, under: tuple[str, ...] = ()) -> None:
        """Beside the configuration are the shipped rules, whose durations are divided. JSON is YAML too. `under` is a command
        that runs the program."""
        (self.directory / "rules").mkdir(parents=True, exist_ok=True)
        for rules in RULES.glob("*.yml"):
            (self.directory / "rules" / rules.name).write_text(shortened(rules.read_text(), divisor))
        self.configure(configuration)
        self.process = await self.place.start(
            self.name,
            *under,
            "prometheus",
            f"--config.file={self.directory / 'prometheus.yml'}",
            f"--web.listen-address={self.address}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            "--log.level=warn",
            *flags,
        )
        await self.process.answers(f"http://{self.address}/-/ready")

    def configure(self, text: str) -> None:
        (self.directory / "prometheus.yml").write_text(text)


class Victoria(Database):
    async def start(self, scrape: float) -> None:
        self.process = await self.place.start(
            self.name,
            "victoria-metrics",
            f"-httpListenAddr={self.address}",
            f"-storageDataPath={self.directory}",
            f"-dedup.minScrapeInterval={scrape:g}s",
            "-search.latencyOffset=1s",
            "-memory.allowedBytes=256MB",
            "-loggerLevel=WARN",
        )
        await self.process.answers(f"http://{self.address}/health")
