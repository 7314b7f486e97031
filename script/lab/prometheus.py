"""Prometheus and Alertmanager of Debian, with the rules and routes that weir ships, in other durations and at other places;
VictoriaMetrics; and a webhook."""

import asyncio
import json
import re
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.client import get
from lab.processes import Failure, Place, Process, free_address

RULES = Path("deploy/prometheus/rules")
ROUTES = Path("deploy/alertmanager/alertmanager.yml")

# The places of durations: in range selectors and subqueries, behind `offset`, and as values of these keys.
PLACES = re.compile(
    r"""
    \[ \s* (?: \d+ [a-z0-9]+ ) \s* (?: : [^\]]* )? \]
    | \b offset \s+ -? \s* \d+ [a-z0-9]+
    | ^ [ \t-]* (?: for | keep_firing_for | group_wait | [a-z_]*interval ) : [ \t]* ['"]? \d+ [a-z0-9]+
    """,
    re.VERBOSE | re.MULTILINE,
)
DURATION = re.compile(r"(?<![\w.])(?:\d+(?:ms|[smhdwy]))+(?![\w.])")
PART = re.compile(r"([0-9.]+)(ms|[smhdwy]|$)")
SECONDS = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "y": 365 * 86400}


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


def shortened(file: str, divisor: int) -> str:
    """A file of rules, or a configuration of Alertmanager, with all durations divided. Names, numbers and texts stay.

    >>> print(shortened('''
    ... interval: 1m
    ... group_wait: 10s
    ... rules:
    ...   - record: job:requests:rate2m
    ...     expr: sum by (job) (rate(requests_total[2m])) / sum_over_time(x{for="5m"}[1h30m:1m])
    ...   - alert: Failing
    ...     expr: a > 0 unless a offset 10m > 0 and max_over_time(b[6h:] offset -1d) > 1
    ...     for: 2m
    ...     keep_firing_for: 500ms
    ...     annotations:
    ...       summary: for 2m, or for 2 minutes
    ... ''', 10))
    <BLANKLINE>
    interval: 6000ms
    group_wait: 1000ms
    rules:
      - record: job:requests:rate2m
        expr: sum by (job) (rate(requests_total[12000ms])) / sum_over_time(x{for="5m"}[540000ms:6000ms])
      - alert: Failing
        expr: a > 0 unless a offset 60000ms > 0 and max_over_time(b[2160000ms:] offset -8640000ms) > 1
        for: 12000ms
        keep_firing_for: 50ms
        annotations:
          summary: for 2m, or for 2 minutes
    <BLANKLINE>
    """
    if divisor == 1:
        return file
    return PLACES.sub(lambda place: DURATION.sub(lambda text: divided(text[0], divisor), place[0]), file)


def divided(duration: str, divisor: int) -> str:
    return f"{round(seconds(duration) * 1000 / divisor)}ms"


def seconds(duration: str) -> float:
    """
    >>> seconds("1m30s"), seconds("500ms"), seconds("5")
    (90.0, 0.5, 5.0)
    """
    return float(sum(float(number) * SECONDS[unit] for number, unit in PART.findall(duration)))


def swap(pattern: str, text: str, whole: str) -> str:
    """Replaces the one place of a shipped file.

    >>> swap("bind .*", "bind :2", "bind :1")
    'bind :2'
    """
    changed, count = re.subn(pattern, lambda _: text, whole)
    if count != 1:
        raise Failure(f"{pattern} stands {count} times in a shipped file, not once")
    return changed
