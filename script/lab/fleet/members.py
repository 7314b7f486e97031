"""The fleet itself: three weirs and haproxy before them; and its view, with the files that are shipped: two Prometheus, whose ways to the
instances can be cut, and two Alertmanagers as a cluster."""

import asyncio
import csv
import json
import signal
from pathlib import Path

from lab import prometheus
from lab.client import get
from lab.fleet.verdicts import Alert, alert
from lab.gateway import STILL, Gateway
from lab.processes import Failure, Place, free_address, free_port
from lab.prometheus import shortened, swap

SHIPPED_PROXY = Path("deploy/haproxy/haproxy.cfg")
NAMES = ("a", "b", "c")
DELAY = 3
"""Seconds of --gateway.shutdown-delay: more than two of haproxy's checks."""
SHIPPED = Path("deploy/prometheus/fleet.yml")
REPLICAS = ("a", "b")


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


class Relay:
    """Passes connections on. Cut, it refuses them, or takes them and passes nothing on, as a firewall does."""

    def __init__(self, host: str, port: int) -> None:
        self.target = host, port
        self.port = free_port()
        self.server: asyncio.Server | None = None
        self.writers: set[asyncio.StreamWriter] = set()
        self.flowing = asyncio.Event()

    async def open(self) -> None:
        self.flowing.set()
        if not self.server:
            self.server = await asyncio.start_server(self.accept, "127.0.0.1", self.port)

    def refuse(self) -> None:
        if self.server:
            self.server.close()
            self.server = None
        for writer in list(self.writers):
            writer.transport.abort()

    def hang(self) -> None:
        self.flowing.clear()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.flowing.wait()
            upstream, onward = await asyncio.open_connection(*self.target)
        except OSError:  # the instance is gone
            writer.close()
            return
        await asyncio.gather(self.pass_on(reader, onward), self.pass_on(upstream, writer))

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        try:
            while octets := await reader.read(1 << 16):
                await self.flowing.wait()
                writer.write(octets)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.writers.discard(writer)
            writer.close()


class Prometheus(prometheus.Prometheus):
    """At other ports, and quicker."""

    def __init__(self, place: Place, replica: str, instances: list[Instance], divisor: int) -> None:
        super().__init__(place, f"prometheus-{replica}")
        self.title = f"Prometheus {replica}"
        self.replica = replica
        self.divisor = divisor
        self.relays = {one.name: Relay("127.0.0.1", one.metrics) for one in instances}

    async def watch(self, alertmanagers: list[str], storage: str) -> None:
        for relay in self.relays.values():
            await relay.open()
        text = shortened(SHIPPED.read_text(), self.divisor)
        text = swap(r"targets: \[.*:9093.*\]", f"targets: {json.dumps(alertmanagers)}", text)
        text = swap(r"127\.0\.0\.1:8428", storage, text)
        # Both have the same labels, though their ways to the instances differ.
        targets = "".join(
            f'      - {{ targets: ["127.0.0.1:{relay.port}"], labels: {{ instance: weir-{name} }} }}\n'
            for name, relay in self.relays.items()
        )
        await self.start(
            swap(r" +- targets: \[.*:9481.*\]\n", targets, text),
            "--enable-feature=expand-external-labels",
            # At the end VictoriaMetrics ends as well, and takes nothing more.
            "--storage.remote.flush-deadline=1s",
            divisor=self.divisor,
            under=("env", f"REPLICA={self.replica}"),
        )

    async def alerts(self) -> dict[Alert, str]:
        """Which alerts are pending or firing."""
        return {alert(labels): labels["alertstate"] for labels, _ in await self.query("ALERTS")}


class Alertmanager(prometheus.Alertmanager):
    async def join(self, webhook: str, peer: str) -> None:
        await self.start(
            webhook,
            f"--cluster.listen-address={self.cluster}",
            f"--cluster.peer={peer}",
            # The second tells what the first has not told by then. A machine that is short of time is late by seconds, whatever
            # the durations of the rules. It has to be less than the interval of a group, or the second tells of what is over.
            f"--cluster.peer-timeout={max(15 / self.divisor, 4):g}s",
        )

    async def alerts(self) -> set[Alert]:
        return {alert(one["labels"]) for one in await self.api("alerts?active=true")}

    async def check_cluster(self) -> None:
        status = (await self.api("status"))["cluster"]
        if len(status.get("peers", [])) != 2:
            raise Failure(f"{self.name} has not found the other one: {status}")
