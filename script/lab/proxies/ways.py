"""The ways to the origins: proxies of all kinds, each in all states, and the surroundings of a row."""

import asyncio
import json
import ssl
from dataclasses import dataclass, field
from typing import Any

from lab.credentials.rig import ready
from lab.gateway import Gateway
from lab.processes import Place, free_address
from lab.proxies.daemons import BASIC, CLOSED, OPEN, PASSWORD, STATES, USER, dante, free_ports, squid, system, tinyproxy
from lab.proxies.origin import Origin
from lab.proxies.scripted import Scripted, hang
from lab.tls import Pair

CREDENTIAL = "proxy"
"""Its name in the configuration."""
HOST = "endure"
"""The name in the certificates."""
NO_CREDENTIAL, REFUSES, DOWN, HUNG = "407", "403", "down", "hung"
Config = dict[str, Any]


@dataclass(frozen=True)
class Way:
    name: str
    scheme: str
    state: str
    address: str
    has_credential: bool = False

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.address}"

    @property
    def takes_requests(self) -> bool:
        """Whether requests for `http` URLs go to the proxy in absolute form."""
        return self.scheme in ("http", "https")

    @property
    def resolves(self) -> bool:
        """Whether it looks names up."""
        return self.scheme != "socks5"

    def config(self, pair: Pair) -> Config:
        """The value of `proxy`."""
        more: Config = {"credential": CREDENTIAL} if self.has_credential else {}
        if self.scheme == "https":
            more["tls"] = {"ca": str(pair.certificate)}
        return {"url": self.url, **more}


@dataclass
class Here:
    """The surroundings that all rows share."""

    place: Place
    short: bool
    pair: Pair
    plain: Origin
    secure: Origin
    ways: list[Way] = field(default_factory=list)

    @staticmethod
    async def made(place: Place, short: bool) -> "Here":
        pair = await Pair(place.directory, host=HOST).make()
        here = Here(place, short, pair, await Origin().start(), await Origin(server_context(pair)).start())
        here.ways = await ways(here)
        return here

    def open(self, scheme: str) -> Way:
        return next(way for way in self.ways if way.scheme == scheme and way.state == OPEN)

    def upstream_tls(self) -> Config:
        return {"ca": str(self.pair.certificate), "serverName": HOST}

    async def gateway(self, name: str, config: Config, *flags: str, **more: Any) -> Gateway:
        """A gateway that is ready."""
        credential = {"name": CREDENTIAL, "basic": {"user": USER, "password": PASSWORD}}
        text = json.dumps({"credentials": [credential], **config}, indent=2)
        gateway = await Gateway.start(self.place, text, *flags, name=name, **more)
        await ready(gateway)
        return gateway


def server_context(pair: Pair) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(pair.certificate, pair.key)
    return made


async def ways(here: Here) -> list[Way]:
    """Starts the proxies."""
    place, pair = here.place, here.pair
    plain, secure, tiny, socks = (free_ports() for _ in range(4))
    around = await system(place)
    await asyncio.gather(
        squid(place, pair, plain, secure),
        *(tinyproxy(place, around, state, tiny[state]) for state in STATES),
        *(dante(place, around, state, socks[state]) for state in STATES),
    )
    columns = [
        ("http", "squid", plain),
        ("http", "tinyproxy", tiny),
        ("https", "squid", secure),
        ("socks5", "dante", socks),
        ("socks5h", "dante", socks),
    ]
    found = []
    for scheme, program, ports in columns:
        hung = await Scripted(hang, server_context(pair) if scheme == "https" else None).start()
        addresses = {
            **{state: f"127.0.0.1:{ports[at]}" for state, at in STATES_OF_DAEMONS.items()},
            DOWN: free_address(),
            HUNG: hung.address,
        }
        found += [
            Way(f"{scheme}-{program}-{state}", scheme, state, address, has_credential=state == BASIC)
            for state, address in addresses.items()
        ]
    return found


STATES_OF_DAEMONS = {OPEN: OPEN, BASIC: BASIC, NO_CREDENTIAL: BASIC, REFUSES: CLOSED}
"""The states of the table, and those in which the daemons are then."""
