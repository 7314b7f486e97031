"""Prometheus and Alertmanager of Debian, with the rules and routes that weir ships; VictoriaMetrics; and a webhook."""

import asyncio
import json
import re
import urllib.parse
from collections.abc import Callable
from typing import Any

from lab.client import get
from lab.processes import Place, Process, free_address
from lab.rules import ROUTES, RULES, shortened


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


class Webhook:
    """Receives Alertmanager's messages, and calls back with each."""

    def __init__(self, hear: Callable[[dict[str, Any]], None]) -> None:
        self.hear = hear

    async def start(self) -> None:
        self.server = await asyncio.start_server(self.receive, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(head.partition("content-length:")[2].split()[0])
                message = json.loads(await reader.readexactly(length))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                self.hear(message)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # Alertmanager closed the connection
        finally:
            writer.close()


class Alertmanager:
    def __init__(self, place: Place, name: str, divisor: int) -> None:
        self.place = place
        self.name = name
        self.divisor = divisor
        self.address, self.cluster = free_address(), free_address()
        self.lives = 0

    async def start(self, webhook: str, *flags: str, group_by: str = "") -> None:
        """All receivers are the webhook. `group_by` takes the place of all groups."""
        self.lives += 1
        routes = re.sub(r"(?<=url: )http://[^/\s]+", webhook, shortened(ROUTES.read_text(), self.divisor))
        if group_by:
            routes = re.sub(r"(?<=group_by: )\[.*\]", group_by, routes)
        self.process = await self.place.start(
            f"{self.name}-{self.lives}",
            "prometheus-alertmanager",
            f"--config.file={self.place.file(f'{self.name}.yml', routes)}",
            f"--storage.path={self.place.directory / self.name}",
            f"--web.listen-address={self.address}",
            "--log.level=warn",
            *flags,
        )
        await self.process.answers(f"http://{self.address}/-/ready")

    async def api(self, call: str) -> Any:
        return json.loads(await get(f"http://{self.address}/api/v2/{call}"))
