"""Debian's Alertmanager with the routes that weir ships, and a webhook that receives the alerts."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plan import Plan
from processes import Processes, free_port
from prometheus import ready
from rules import shortened

SHIPPED_ROUTES = Path("deploy/alertmanager/alertmanager.yml")


@dataclass(frozen=True)
class Notification:
    """About an alert of a job. It is firing as long as the alert fires for one of the job's destinations."""

    job: str
    alert: str
    severity: str
    firing: bool


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


def notifications(message: dict[str, Any]) -> list[Notification]:
    states: dict[tuple[str, str, str], bool] = {}
    for alert in message["alerts"]:
        labels = alert["labels"]
        key = labels.get("job", ""), labels["alertname"], labels["severity"]
        states[key] = states.get(key, False) or alert["status"] == "firing"
    return [Notification(*key, firing) for key, firing in states.items()]


class Alertmanager:
    def __init__(self, plan: Plan, directory: Path) -> None:
        self.plan = plan
        self.directory = directory
        self.address = f"127.0.0.1:{free_port()}"

    async def start(self, processes: Processes, webhook: str) -> None:
        """All receivers are the webhook, and it is told of each alert by itself: on call, one page for a job will do, but
        here it has to be seen which alert comes when."""
        routes = shortened(SHIPPED_ROUTES.read_text(), self.plan.rules_divisor)
        routes = re.sub(r"(?<=url: )http://[^/\s]+", webhook, routes)
        routes = re.sub(r"(?<=group_by: )\[.*\]", "[job, alertname]", routes)
        configuration = self.directory / "alertmanager.yml"
        configuration.write_text(routes)
        process = await processes.start(
            "alertmanager",
            "prometheus-alertmanager",
            f"--config.file={configuration}",
            f"--storage.path={self.directory / 'alertmanager'}",
            f"--web.listen-address={self.address}",
            "--cluster.listen-address=",
            "--log.level=warn",
        )
        await ready(process, f"http://{self.address}/-/ready")
