"""Debian's Alertmanager, and a webhook to which it tells of alerts."""
import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from plan import Plan
from processes import Processes, free_port
from prometheus import ready


@dataclass(frozen=True)
class Notification:
    """Of an alert of a job. It is firing as long as it does for one of the job's destinations."""

    job: str
    alert: str
    firing: bool
    summary: str


class Webhook:
    """Hears of alerts, and calls back."""

    def __init__(self, hear: Callable[[Notification], None]) -> None:
        self.hear = hear

    async def start(self) -> None:
        self.server = await asyncio.start_server(self.receive, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/"

    async def receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(head.partition("content-length:")[2].split()[0])
                message = json.loads(await reader.readexactly(length))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                group, annotations = message["groupLabels"], message["alerts"][0]["annotations"]
                firing = message["status"] == "firing"
                self.hear(Notification(group.get("job", ""), group["alertname"], firing, annotations.get("summary", "")))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # Alertmanager closed the connection
        finally:
            writer.close()


class Alertmanager:
    def __init__(self, plan: Plan, directory: Path) -> None:
        self.plan = plan
        self.directory = directory
        self.address = f"127.0.0.1:{free_port()}"

    async def start(self, processes: Processes, webhook: str) -> None:
        configuration = self.directory / "alertmanager.yml"
        configuration.write_text(json.dumps(self.configuration(webhook), indent=2))
        process = await processes.start(
            "alertmanager", "prometheus-alertmanager", f"--config.file={configuration}",
            f"--storage.path={self.directory / 'alertmanager'}", f"--web.listen-address={self.address}",
            "--cluster.listen-address=", "--log.level=warn",
        )  # fmt: skip
        await ready(process, f"http://{self.address}/-/ready")

    def configuration(self, webhook: str) -> dict[str, object]:
        """What is new is told at once, and what changes in a group as soon as rules were evaluated again."""
        return {
            "route": {
                "receiver": "webhook",
                "group_by": ["job", "alertname"],
                "group_wait": "1s",
                "group_interval": f"{self.plan.interval:g}s",
                "repeat_interval": "4h",
            },
            "receivers": [{"name": "webhook", "webhook_configs": [{"url": webhook, "send_resolved": True}]}],
        }
