"""The surroundings of rows about requests: an origin, a collector and a gateway, and a client for each case."""

import asyncio
import json
from itertools import groupby
from typing import Any

from lab.client import BROKEN_OFF
from lab.gateway import Gateway
from lab.processes import Failure, Place, free_address, free_port
from lab.servers import echo
from lab.telemetry.cases import Case, Facts
from lab.telemetry.collector import Collector
from lab.telemetry.origin import Origin


class Rig:
    """The surroundings: an origin, a collector and a gateway, whose routes have destinations of their own."""

    def __init__(self, place: Place, name: str, cases: tuple[Case, ...], trace: Facts) -> None:
        self.place, self.name, self.cases, self.trace = place, name, cases, trace
        self.collector = Collector()
        self.origin = Origin({case.name: case.answers for case in cases})
        self.dead = free_port()
        self.routes = [case for case in cases if not case.like]

    gateway: Gateway
    proxy: str
    """The address for programs that have the gateway as their proxy."""
    tunnels: int
    """The port at which tunnels end."""

    def host(self, case: Case) -> str:
        return f"127.1.0.{1 + [one.name for one in self.routes].index(case.at)}"

    def filled(self, value: Any, case: Case) -> Any:
        """With the case's addresses."""
        host, text = self.host(case), json.dumps(value)
        return json.loads(text.replace("LIVE", f"{host}:{self.origin.port}").replace("DEAD", f"{host}:{self.dead}"))

    async def start(self, **telemetry: Any) -> None:
        await self.collector.start()
        await self.origin.start()
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        self.tunnels = server.sockets[0].getsockname()[1]
        address, self.proxy = free_address(), free_address()
        routes: list[Any] = []
        for case in self.routes:
            route = {"name": case.name, "match": {"pathPrefix": f"/{case.name}", "listener": "plain"}, **case.route}
            if case.method == "CONNECT":
                policy = {"otherwise": "none", "allow": ["127.0.0.0/8"]}
                route |= {"match": {"listener": "proxy"}, "connect": {"ports": [self.tunnels]}, "destinationPolicy": policy}
            elif not {"upstream", "respond", "redirect"} & case.route.keys():
                route["upstream"] = "http://LIVE"
            if not case.path.startswith("/nothing"):
                routes.append(self.filled(route, case))
        token = f"http://127.0.0.1:{self.origin.port}"
        about = {"clientID": "a", "clientSecret": "secret"}
        config = {
            "listeners": [
                {"name": "plain", "address": address}, {"name": "proxy", "address": self.proxy, "forwardProxy": True},
            ],
            "telemetry": {
                "endpoint": f"http://127.0.0.1:{self.collector.port}", "serviceName": "shop", "resource": {"tier": "test"},
                "metrics": "off", **telemetry,
            },
            "trace": self.trace,
            "credentials": [
                {"name": "shop", "oauth2": {"tokenURL": f"{token}/-/token", **about}},
                {"name": "stranger", "oauth2": {"tokenURL": f"{token}/-/no-token", **about}},
            ],
            "upstreams": [self.filled(entry, case) for case in self.cases for entry in case.entries],
            "routes": routes,
        }
        text = "listeners:\n" + "".join(f"  - {json.dumps(one)}\n" for one in config.pop("listeners"))
        text += "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())
        self.gateway = await Gateway.start(self.place, text, name=self.name, workers=1)
        self.gateway.address = address

    async def ask(self) -> dict[str, int]:
        """Asks for all cases, those of one route one after the other. Returns the statuses; 0 is none."""
        statuses: dict[str, int] = {}

        async def ask(case: Case) -> None:
            statuses[case.name] = await self.asked(case)

        async def lane(cases: list[Case]) -> None:
            under_way: list[asyncio.Task[None]] = []
            for case in cases:
                if case.beside:
                    await self.origin.until(case.like)
                else:
                    await asyncio.gather(*under_way)
                under_way.append(asyncio.create_task(ask(case)))
            await asyncio.gather(*under_way)

        lanes = [list(group) for _, group in groupby(self.cases, lambda case: case.at)]
        await asyncio.gather(*map(lane, lanes))
        return statuses

    async def asked(self, case: Case) -> int:
        tunnel = f"127.0.0.1:{self.tunnels}"
        host, port = (self.proxy if case.method == "CONNECT" else self.gateway.address).split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        target = tunnel if case.method == "CONNECT" else case.target
        agent = f"{case.name} {case.agent}".strip()
        head = f"{case.method} {target} HTTP/{case.version}\r\nHost: shop.test:81\r\nUser-Agent: {agent}\r\n{case.fields}"
        head += f"Content-Length: {len(case.body)}\r\n" if case.body else ""
        head += "" if "Connection" in case.fields else "Connection: close\r\n"
        writer.write(f"{head}\r\n".encode(errors="surrogateescape") + case.body)
        if case.leaves:
            await self.origin.until(case.name)
            status = int((await reader.readuntil(b"\r\n\r\n")).split()[1]) if "begun" in case.answers else 0
            writer.transport.abort()
            await self.origin.until(case.name, left=True)
            return status
        try:
            async with asyncio.timeout(10):
                status = int((await reader.readuntil(b"\r\n\r\n")).split()[1])
                if status == 101 or case.method == "CONNECT":
                    writer.write(b"ping")
                    await reader.readexactly(4)
                    writer.write_eof()
                await reader.read()
        except BROKEN_OFF as failure:
            raise Failure(f"{case.name}: {failure!r}") from failure
        finally:
            writer.close()
        return status
