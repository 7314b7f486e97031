"""The surroundings of a row: its place, the network, and a gateway that is a proxy."""

import json
from dataclasses import dataclass
from typing import Any

from lab.egress.network import Network
from lab.gateway import Gateway
from lab.processes import Place, free_address

Route = dict[str, Any]
Listener = dict[str, Any]


@dataclass
class Here:
    place: Place
    """That of the row."""
    network: Network
    short: bool

    async def gateway(self, listeners: list[Listener], routes: list[Route], **more: Any) -> Gateway:
        gateway = await Gateway.start(self.place, text(listeners, routes), "--gateway.drain-timeout=1s", **more)
        await gateway.process.answers(gateway.metrics.replace("/metrics", "/-/ready"))
        return gateway


def proxy_listener(name: str) -> Listener:
    return {"name": name, "address": free_address(), "forwardProxy": True}


def text(listeners: list[Listener], routes: list[Route]) -> str:
    """
    >>> print(text([{"name": "egress"}], []))
    listeners: [{"name": "egress"}]
    routes: []
    <BLANKLINE>
    """
    return f"listeners: {json.dumps(listeners)}\nroutes: {json.dumps(routes)}\n"
