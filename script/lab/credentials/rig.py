"""The surroundings of a row: the upstream, token services, gateways, and what is often asked of them."""

import asyncio
import json
import shutil
import signal
import time
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.credentials.upstream import Upstream
from lab.gateway import Gateway
from lab.load import Call, Schedule, count, steady
from lab.processes import Failure, Place, Process, free_port

SECRET = "s3cret+/=&%{}"
"""That of each client, with its name: octets that a form and Basic spell in ways of their own."""
PATIENCE = 30
Config = dict[str, Any]


@dataclass
class Client:
    """The arguments of a client of the token service; see there."""

    name: str
    secret: str = ""
    lifetime: int = 3600
    scope: str = "read"

    def __post_init__(self) -> None:
        self.secret = self.secret or SECRET.format(self.name)


class TokenService:
    """Authlib's, under a port that it has again after a restart."""

    def __init__(self, place: Place, upstream: Upstream, *clients: Client, name: str = "tokens") -> None:
        self.place, self.upstream, self.clients, self.name = place, upstream, clients, name
        self.port = free_port()
        self.lives = 0

    process: Process

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/token"

    async def start(self) -> None:
        self.lives += 1
        clients = json.dumps([asdict(one) for one in self.clients])
        self.process = await self.place.child(
            f"{self.name}-{self.lives}", "credentials.tokens", self.port, self.upstream.address, clients
        )
        await self.process.accepts(f"127.0.0.1:{self.port}")

    async def kill(self) -> None:
        await self.process.end(signal.SIGKILL)

    async def order(self, order: str, **arguments: object) -> None:
        await self.ask(order, json.dumps(arguments).encode())

    async def asked(self, client: str) -> list[dict[str, Any]]:
        """The requests of a client since the start."""
        return [one for one in json.loads(await self.ask("asked")) if one["client"] == client]

    async def ask(self, path: str, body: bytes | None = None) -> bytes:
        url = f"http://127.0.0.1:{self.port}/{path}"

        def fetch() -> bytes:
            request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                return bytes(answer.read())

        return await asyncio.to_thread(fetch)


def lifetime(short: bool) -> int:
    """Seconds of the tokens that end soon. In short it has to hold on a busy machine, which takes seconds to get a token and to use it."""
    return 12 if short else 3


@dataclass
class Here:
    """What all rows share."""

    place: Place
    short: bool
    upstream: Upstream
    service: TokenService

    @property
    def lifetime(self) -> int:
        return lifetime(self.short)

    def oauth2(self, name: str, service: TokenService | None = None, **keys: object) -> Config:
        """An entry of `credentials`, for the client of that name."""
        url = (service or self.service).url
        about = {"tokenURL": url, "clientID": name, "clientSecret": SECRET.format(name), "scopes": ["read"]}
        # In short it has to hold on a busy machine.
        bounds = {"timeout": "20s", "wait": "20s"} if self.short and not service else {}
        return {"name": name, "oauth2": {**about, **bounds, **keys}}

    def route(self, name: str, **keys: object) -> Config:
        """A route of that name and prefix, whose requests carry the credential of that name."""
        return {**self.plain_route(name), "credential": name, **keys}

    def plain_route(self, name: str, **keys: object) -> Config:
        upstream = f"http://{self.upstream.address}"
        return {"name": name, "match": {"pathPrefix": f"/{name}"}, "upstream": upstream, **keys}

    async def gateway(self, name: str, config: Config, *flags: str, **more: Any) -> Gateway:
        """A gateway that is ready."""
        gateway = await Gateway.start(self.place, text(config), *flags, name=name, **more)
        await ready(gateway)
        return gateway


def text(config: Config) -> str:
    """JSON is YAML too."""
    return json.dumps(config, indent=2)


async def ready(gateway: Gateway) -> None:
    await gateway.process.answers(gateway.metrics.replace("/metrics", "/-/ready"))


async def until(holds: Callable[[], object], what: str, seconds: float = 60) -> None:
    """Returns once it holds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise Failure(f"{what}: not in {seconds:.0f} s")
        await asyncio.sleep(0.01)


async def passes(seconds: float) -> None:
    """The time that a row is about."""
    await asyncio.sleep(seconds)


def loaded(gateway: Gateway, path: str, rate: float, **more: Any) -> Schedule:
    return steady(gateway.address, rate, path=path, patience=PATIENCE, **more).begin()


async def good(load: Schedule, number: int) -> None:
    """Returns once so many more requests had good answers."""
    wanted = count(load.calls, lambda call: call.good) + number
    await until(lambda: count(load.calls, lambda call: call.good) >= wanted, f"{number} good answers at {load.path}")


def bad(calls: list[Call], status: int = 200) -> int:
    """How many had another answer, or none."""
    return count(calls, lambda call: call.status != status)


def failures(calls: list[Call]) -> str:
    """The statuses of those that failed, with the gateway's reasons, and how long the slowest of each took.

    >>> failures([Call(0, 1, 200), Call(0, 2, 401, True), Call(1, 2, 503, reason="credential"), Call(0, 5, 401, True)])
    '2 × 401 (5.0 s), 1 × 503 credential (1.0 s)'
    """
    found: dict[str, list[float]] = {}
    for call in calls:
        if not call.good:
            found.setdefault(f"{call.status} {call.reason}".rstrip(), []).append(call.took)
    return ", ".join(f"{len(took)} × {name} ({max(took):.1f} s)" for name, took in sorted(found.items())) or "none failed"


def swap(file: Path, content: str) -> None:
    """Gives a file of a mounted secret other content as Kubernetes does: a new directory, and a link that is renamed."""
    mount, link = file.parent, file.parent / "..data"
    old = link.resolve() if link.is_symlink() else None
    directory = mount / f"..{time.monotonic_ns()}"
    directory.mkdir(parents=True)
    (directory / file.name).write_text(content)
    fresh = mount / "..data_tmp"
    fresh.symlink_to(directory.name)
    fresh.rename(link)
    if old:
        shutil.rmtree(old)
    else:
        file.symlink_to(Path("..data") / file.name)
