"""The row about targets that lead where no client should get: each has its answer, and reaches no address that the policy denies."""

import asyncio
import socket
from dataclasses import dataclass, field

from lab.client import BROKEN_OFF
from lab.egress.network import DOMAIN, PUBLIC
from lab.egress.rig import Here, Listener, Route, proxy_listener
from lab.endure.rows import Bar
from lab.processes import free_address, free_port

UNLISTED = 8443
"""A port that the configuration does not name, and at which a server listens all the same."""
METADATA, PRIVATE, MIXED = "169.254.169.254", "10.0.0.7", "20.0.0.11"
NAMES = {
    "public": [PUBLIC],
    "metadata": [METADATA],
    "private": [PRIVATE],
    "loopback": ["127.0.0.1"],
    "six": ["::1"],
    "local": ["fd00::7"],
    "shared": ["100.64.0.1"],
    "mixed": [PRIVATE, MIXED],
    "own": ["127.0.0.1"],
    "every": ["127.0.0.9"],
}
"""Names of the domain, and their addresses."""
REACHED, INSIDE, SECRET = "reached", "inside", "s3cret"
PATIENCE = 20
LONGEST = 300
"""Characters of a sentence."""


def named(name: str, port: int | str = "") -> str:
    return f"{name}.{DOMAIN}" + (f":{port}" if port else "")


@dataclass(frozen=True)
class Target:
    text: str
    """As it stands in the request's line."""
    statuses: tuple[int, ...]
    method: str = "GET"
    says: tuple[str, ...] = ()
    """Words of the answer's sentence."""
    reaches: str = ""
    """The address that is connected to, if any is."""
    host: str = named("public")
    """The value of its field `Host`, which decides nothing."""
    fields: str = ""
    """They end with CRLF each."""
    body: str = ""
    listener: str = "egress"

    def __str__(self) -> str:
        more = "".join(f", {part}" for part in (self.fields.strip(), self.listener.replace("egress", "")) if part)
        return f"{self.method} {self.text}{more}"


@dataclass
class Seen:
    status: int
    sentence: str
    reached: set[str] = field(default_factory=set)

    def wrong(self, target: Target) -> list[str]:
        """
        >>> target = Target("http://127.1/", (403,), says=("127.0.0.1",))
        >>> Seen(403, "127.0.0.1 is not public").wrong(target)
        []
        >>> Seen(200, "reached", {"127.0.0.1"}).wrong(target)
        ['status 200', "its body is 'reached'", 'it says nothing of 127.0.0.1', 'it reached 127.0.0.1']
        """
        found = [] if self.status in target.statuses else [f"status {self.status}"]
        if self.status >= 400:
            if not 0 < len(self.sentence) <= LONGEST or "\n" in self.sentence or SECRET in self.sentence:
                found.append(f"its sentence is {self.sentence!r}")
        elif bool(target.reaches) != (self.sentence == REACHED):
            found.append(f"its body is {self.sentence[:40]!r}")
        found += [f"it says nothing of {word}" for word in target.says if word not in self.sentence]
        if target.reaches and target.reaches not in self.reached:
            found.append(f"it did not reach {target.reaches}")
        return found + [f"it reached {address}" for address in sorted(self.reached - {target.reaches})]


BAD, FORBIDDEN, EITHER = (400,), (403,), (400, 403)


def both(text: str, statuses: tuple[int, ...], *says: str) -> list[Target]:
    """A host that is asked for by GET, and a tunnel to it."""
    return [
        Target(f"http://{text}/latest", statuses, says=says),
        Target(f"{text}:443", statuses, "CONNECT", says=says),
    ]


POSITIVE = [
    Target(f"http://{named('public')}/", (200,), reaches=PUBLIC),
    Target(f"http://{named('public')}:/", (200,), reaches=PUBLIC),
    Target(f"HTTP://PUBLIC.{DOMAIN.upper()}/", (200,), reaches=PUBLIC),
    Target(f"http://{PUBLIC}/", (200,), reaches=PUBLIC),
    Target(f"http://{named('mixed')}/", (200,), reaches=MIXED),
    Target(named("public", 443), (200,), "CONNECT", reaches=PUBLIC),
    Target(named("mixed", 443), (200,), "CONNECT", reaches=MIXED),
    # The server there does not speak TLS.
    Target(f"https://{named('public')}/", (502,), reaches=PUBLIC),
    Target(f"http://{named('public')}/", (200,), reaches=PUBLIC, host=named("private")),
    Target(named("public", 443), (200,), "CONNECT", reaches=PUBLIC, host=named("private")),
]
HOSTS = [
    target
    for targets in (
        *(
            both(named(name), FORBIDDEN, named(name), NAMES[name][0])
            for name in ("metadata", "private", "loopback", "six", "local", "shared")
        ),
        both(METADATA, FORBIDDEN, METADATA),
        both("127.0.0.1", FORBIDDEN, "127.0.0.1"),
        *(both(address, EITHER) for address in ("127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0", "0.0.0.0")),
        both("[::1]", FORBIDDEN, "::1"),
        *(
            both(f"[{address}]", EITHER)
            for address in ("::ffff:127.0.0.1", "::127.0.0.1", "::", "fe80::1", "fe80::1%25lo", "64:ff9b::7f00:1")
        ),
        *(both(address, EITHER) for address in ("224.0.0.1", "255.255.255.255", "[ff02::1]", "192.168.1.1")),
        both("localhost", FORBIDDEN, "localhost"),
        # A resolver may know no such name.
        both("LOCALHOST.", (403, 502)),
    )
    for target in targets
]
FORMS = [
    Target(f"http://user:{SECRET}@{named('public')}/", BAD),
    Target(f"http://{named('public')}@127.0.0.1/", BAD),
    Target(f"http://{named('public')}\\@127.0.0.1/", BAD),
    Target(f"http://{named('public')}%2f@127.0.0.1/", BAD),
    Target(f"http://{named('public')}%00.{DOMAIN}/", BAD),
    *(Target(f"http://{named('public')}:{port}/", BAD) for port in ("0", "99999", "65536", "-1", "+80", "80x", "8 0")),
    *(Target(text, BAD) for text in ("http:/x", "http:x", "http://", "http:///x", "http://:80/", "http://[::1/")),
    *(Target(f"{scheme}://{named('public')}/", BAD) for scheme in ("ftp", "file", "gopher")),
    Target(f"http://{named('public', UNLISTED)}/", FORBIDDEN, says=(named("public"), str(UNLISTED))),
    Target(f"https://{named('public', UNLISTED)}/", FORBIDDEN, says=(named("public"), str(UNLISTED))),
    # In origin form nothing is forwarded.
    *(Target("/", (404,), host=named(name)) for name in ("public", "loopback")),
]
CONNECTS = [
    Target(named("public"), BAD, "CONNECT"),
    *(
        Target(f"{named('public')}:{port}", BAD, "CONNECT")
        for port in ("", "0", "99999", "65536", "-1", "+443", "443/", "443x")
    ),
    *(Target(text, BAD, "CONNECT") for text in ("/", ":443", "[::1:443", f"http://{named('public')}:443/")),
    Target(f"user:{SECRET}@{named('public')}:443", BAD, "CONNECT"),
    *(
        Target(named("public", port), FORBIDDEN, "CONNECT", (named("public"), str(port)))
        for port in (80, 22, 25, UNLISTED)
    ),
    Target(named("public", 443), BAD, "CONNECT", fields="Content-Length: 5\r\n", body="hello"),
    Target(named("public", 443), BAD, "CONNECT", fields="Transfer-Encoding: chunked\r\n", body="0\r\n\r\n"),
    Target(named("public", 443), (501,), "CONNECT", listener="plain"),
    # There it is a path.
    Target(f"http://{named('public')}/", (404,), listener="plain"),
]


def own(ports: list[int], everywhere: int) -> list[Target]:
    """The ports at which the gateway itself listens; at `everywhere` on all addresses."""
    found = []
    for name, port in [*(("own", port) for port in ports), ("every", everywhere)]:
        says = (named(name), str(port), NAMES[name][0])
        found.append(Target(f"http://{named(name, port)}/metrics", FORBIDDEN, says=says))
        found.append(Target(named(name, port), FORBIDDEN, "CONNECT", says))
    return found


class Watch:
    """Listens on every address, and notes at which one a connection came."""

    def __init__(self) -> None:
        self.reached: set[str] = set()
        self.servers: list[asyncio.Server] = []
        self.count = 0
        """Connections to addresses that are denied."""

    async def start(self) -> None:
        for port in (80, 443, UNLISTED):
            listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
            self.servers.append(await asyncio.start_server(self.take, sock=listener))

    def stop(self) -> None:
        for server in self.servers:
            server.close()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address: str = writer.get_extra_info("sockname")[0]
        address = address.removeprefix("::ffff:")
        self.reached.add(address)
        self.count += address not in (PUBLIC, MIXED)
        try:
            if await reader.read(4096):
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(REACHED)}\r\nConnection: close\r\n\r\n".encode())
                writer.write(REACHED.encode())
                await writer.drain()
        except ConnectionError:
            pass  # the gateway has seen enough
        finally:
            writer.close()

    def taken(self) -> set[str]:
        """The addresses that were reached since the last look."""
        found, self.reached = self.reached, set()
        return found


async def ask(address: str, target: Target) -> Seen:
    """The answer in words. Behind a tunnel that is that of the server."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    request = f"{target.method} {target.text} HTTP/1.1\r\nHost: {target.host}\r\nConnection: close\r\n{target.fields}"
    writer.write(f"{request}\r\n{target.body}".encode())
    try:
        async with asyncio.timeout(PATIENCE):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status = int(head.split()[1])
            if target.method == "CONNECT" and status == 200:
                writer.write(b"GET / HTTP/1.1\r\n\r\n")
                await reader.readuntil(b"\r\n\r\n")
            return Seen(status, (await reader.read()).decode(errors="replace").strip())
    finally:
        writer.transport.abort()


def routes(ports: list[int]) -> list[Route]:
    public, anywhere = {"otherwise": "publicOnly"}, {"otherwise": "any"}
    match = {"listener": "egress"}
    own = {**match, "host": [named("own"), named("every")]}
    return [
        {"name": "all", "match": match, "upstream": {"requested": {}}, "destinationPolicy": public},
        {"name": "tunnels", "match": match, "connect": {}, "destinationPolicy": public},
        {"name": "own", "match": own, "upstream": {"requested": {"ports": ports}}, "destinationPolicy": anywhere},
        {"name": "own-tunnels", "match": own, "connect": {"ports": ports}, "destinationPolicy": anywhere},
        {
            "name": INSIDE,
            "match": {"listener": ["plain", "everywhere"], "path": "/metrics"},
            "respond": {"status": 200, "body": INSIDE},
        },
    ]


def listeners() -> list[Listener]:
    return [
        proxy_listener("egress"),
        {"name": "plain", "address": free_address()},
        {"name": "everywhere", "address": f"0.0.0.0:{free_port()}"},
    ]


async def hostile(here: Here) -> list[Bar]:
    for name, addresses in NAMES.items():
        here.network.name(named(name), *addresses)
    doors, metrics = listeners(), free_port()
    places: dict[str, str] = {door["name"]: door["address"] for door in doors}
    egress, plain, everywhere = (int(address.rpartition(":")[2]) for address in places.values())
    ports = [egress, plain, metrics]
    gateway = await here.gateway(doors, routes([*ports, everywhere]), ports=(0, metrics))
    targets = [*POSITIVE, *HOSTS, *FORMS, *CONNECTS, *own(ports, everywhere)]
    watch, told, wrong = Watch(), [], []
    await watch.start()
    for target in targets:
        try:
            seen = await ask(places[target.listener], target)
        except BROKEN_OFF as error:
            seen = Seen(0, f"no answer: {error!r}")
        seen.reached = watch.taken()
        told.append(f"{target}: {seen.status}, {seen.sentence}")
        if found := seen.wrong(target):
            wrong.append(f"{target}: {'; '.join(found)}")
    watch.stop()
    here.place.file("answers.txt", "\n".join(told) + "\n")
    right, asked = len(targets) - len(wrong), (await gateway.page()).sum("weir_gateway_requests_total", route=INSIDE)
    return [
        Bar(f"{right} of {len(targets)} targets have the right answer", not wrong),
        Bar(f"{watch.count} connections to addresses that are denied", watch.count == 0),
        Bar(f"{asked:.0f} requests of the gateway to itself", asked == 0),
        *(Bar(text, False) for text in wrong),
    ]
