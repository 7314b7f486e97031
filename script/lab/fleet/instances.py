"""The fleet itself: three weirs and haproxy before them."""

import asyncio
import csv
import signal
from pathlib import Path

from lab.client import get
from lab.gateway import STILL, Gateway
from lab.processes import Failure, Place, free_address, free_port
from lab.rules import swap

SHIPPED_PROXY = Path("deploy/haproxy/haproxy.cfg")
NAMES = ("a", "b", "c")
DELAY = 3
"""Seconds of --gateway.shutdown-delay: more than two of haproxy's checks."""


class Instance:
    """A weir. Each of its lives has the same addresses."""

    gateway: Gateway

    def __init__(self, place: Place, name: str, configuration: Path) -> None:
        self.place = place
        self.name = name
        self.configuration = configuration
        self.port, self.metrics = free_port(), free_port()
        self.lives = 0

    async def start(self) -> None:
        self.lives += 1
        self.gateway = await Gateway.start(
            self.place,
            self.configuration,
            f"--gateway.shutdown-delay={DELAY}s",
            name=f"weir-{self.name}-{self.lives}",
            workers=1,
            ports=(self.port, self.metrics),
        )
        await self.gateway.process.answers(f"http://127.0.0.1:{self.metrics}/-/ready")

    async def kill(self) -> None:
        await self.gateway.process.end(signal.SIGKILL)

    async def restart(self) -> None:
        process = self.gateway.process
        if status := await process.end():
            raise Failure(f"{process.name} ended with status {status}: {process.tail()}")
        await self.start()

    async def reload(self) -> None:
        if STILL in await self.gateway.hang_up():
            raise Failure(f"{self.gateway.process.name} did not reload: {self.gateway.process.tail()}")

    async def started_requests(self) -> float:
        """So many as its page counts."""
        return (await self.gateway.page()).sum("weir_requests_started_total")


class Balancer:
    """haproxy with the configuration that is shipped, at other ports."""

    def __init__(self, place: Place, instances: list[Instance]) -> None:
        self.place = place
        self.address, self.statistics = free_address(), free_address()
        text = SHIPPED_PROXY.read_text()
        text = swap(r"bind 127\.0\.0\.1:8080", f"bind {self.address}", text)
        text = swap(r"bind 127\.0\.0\.1:8404", f"bind {self.statistics}", text)
        for one in instances:
            server = f"server {one.name} 127.0.0.1:{one.port} port {one.metrics}"
            text = swap(rf"server {one.name} 127\.0\.0\.1:\d+ port \d+", server, text)
        self.file = place.file("haproxy.cfg", text)

    async def start(self) -> None:
        process = await self.place.start("haproxy", "haproxy", "-db", "-f", self.file)
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
