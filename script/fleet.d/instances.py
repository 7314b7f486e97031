"""The fleet itself: three weirs and haproxy before them."""

import asyncio
import csv
import re
import signal
from pathlib import Path

from page import Page
from processes import Failure, Process, free_port
from prometheus import get, ready
from row import Place

SHIPPED_PROXY = Path("deploy/haproxy/haproxy.cfg")
NAMES = ("a", "b", "c")
DELAY = 3
"""Seconds of --gateway.shutdown-delay: more than two of haproxy's checks."""
RELOADED = 'msg="configuration reloaded"'


class Instance:
    """A weir. Each of its lives has the same addresses."""

    def __init__(self, place: Place, name: str, configuration: Path) -> None:
        self.place = place
        self.name = name
        self.configuration = configuration
        self.port, self.metrics = free_port(), free_port()
        self.lives = 0
        self.process: Process | None = None

    async def start(self) -> None:
        self.lives += 1
        self.process = await self.place.processes.start(
            f"weir-{self.name}-{self.lives}",
            self.place.program,
            "serve",
            f"--config.file={self.configuration}",
            "--gateway.workers=1",
            f"--gateway.listen-address=127.0.0.1:{self.port}",
            f"--web.listen-address=127.0.0.1:{self.metrics}",
            f"--gateway.shutdown-delay={DELAY}s",
        )
        await ready(self.process, f"http://127.0.0.1:{self.metrics}/-/ready")

    async def kill(self) -> None:
        assert self.process
        await self.place.processes.end(self.process, signal.SIGKILL)

    async def restart(self) -> None:
        assert self.process
        status = await self.place.processes.end(self.process)
        if status != 0:
            raise Failure(f"{self.process.name} ended with status {status}: {self.process.tail()}")
        await self.start()

    async def reload(self) -> None:
        assert self.process
        before = self.process.log.read_text().count(RELOADED)
        self.process.process.send_signal(signal.SIGHUP)
        for _ in range(300):
            if self.process.log.read_text().count(RELOADED) > before:
                return
            await asyncio.sleep(0.1)
        raise Failure(f"{self.process.name} did not reload: {self.process.tail()}")

    async def started_requests(self) -> float:
        """So many as its page counts."""
        page = await get(f"http://127.0.0.1:{self.metrics}/metrics")
        return Page(page.decode()).sum("weir_requests_started_total")


class Balancer:
    """haproxy with the configuration that is shipped, at other ports."""

    def __init__(self, place: Place, instances: list[Instance]) -> None:
        self.place = place
        self.address, self.statistics = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
        text = SHIPPED_PROXY.read_text()
        text = swap(r"bind 127\.0\.0\.1:8080", f"bind {self.address}", text)
        text = swap(r"bind 127\.0\.0\.1:8404", f"bind {self.statistics}", text)
        for one in instances:
            server = f"server {one.name} 127.0.0.1:{one.port} port {one.metrics}"
            text = swap(rf"server {one.name} 127\.0\.0\.1:\d+ port \d+", server, text)
        self.file = place.file("haproxy.cfg", text)

    async def start(self) -> None:
        process = await self.place.processes.start("haproxy", "haproxy", "-db", "-f", self.file)
        await process.accepts(self.address)

    async def up(self) -> set[str]:
        """The instances in the turn."""
        table = (await get(f"http://{self.statistics}/;csv")).decode().removeprefix("# ").splitlines()
        rows = [row for row in csv.DictReader(table) if row["pxname"] == "weir"]
        return {row["svname"] for row in rows if row["svname"] in NAMES and row["status"] == "UP"}

    async def has_up(self, *names: str) -> None:
        for _ in range(300):
            if await self.up() >= set(names):
                return
            await asyncio.sleep(0.1)
        raise Failure(f"haproxy has {await self.up()} in the turn, and not all of {set(names)}")


def swap(pattern: str, text: str, whole: str) -> str:
    """Replaces the one place of a shipped file.

    >>> swap("bind .*", "bind :2", "bind :1")
    'bind :2'
    """
    changed, count = re.subn(pattern, lambda _: text, whole)
    if count != 1:
        raise Failure(f"{pattern} stands {count} times in a shipped file, not once")
    return changed
