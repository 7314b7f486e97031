"""Debian's Alertmanager with the routes that weir ships, and a webhook that receives the alerts."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

from lab.client import get
from lab.processes import Place, free_address
from lab.rules import ROUTES, shortened


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
