"""The view of the fleet: two Prometheus, whose ways to the instances can be cut, and two Alertmanagers as a cluster, with the files
that are shipped."""

import asyncio
import json
from pathlib import Path

from lab import prometheus
from lab.fleet.instances import Instance
from lab.fleet.verdicts import Alert, alert
from lab.processes import Failure, Place, free_port
from lab.rules import shortened, swap

SHIPPED = Path("deploy/prometheus/fleet.yml")
REPLICAS = ("a", "b")


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
    def __init__(self, place: Place, replica: str, divisor: int) -> None:
        super().__init__(place, f"alertmanager-{replica}", divisor)
        self.replica = replica

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
