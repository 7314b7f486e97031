"""Requests through a gateway and by curl, the configuration for them, and what the gateway tells of their failures."""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from lab.client import BROKEN_OFF, Connection
from lab.gateway import Gateway, Page
from lab.processes import output
from lab.proxies.daemons import PASSWORD, USER
from lab.proxies.origin import HELLO, ONCE, PROTOCOL
from lab.proxies.ways import HUNG, Config, Here, Way

HTTP, HTTPS, UPGRADE = "http", "https", "upgrade"
"""Kinds of requests."""
ENDPOINTS = "127.0.0.1", "127.0.0.2"
REQUESTS = 4
"""That are sent for each route at once: enough for an endpoint to be left out."""
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
SWITCH = {"Connection": "Upgrade", "Upgrade": PROTOCOL}
CUT = 0
"""In place of a status: there was no answer."""
REFUSED, UNAUTHORIZED, UNREACHABLE, LATE, TLS = (
    f"proxy_{word}" for word in ("refused", "authentication", "unreachable", "timeout", "tls")
)
"""Labels of failures."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes = b""

    @property
    def good(self) -> bool:
        """Whether it is the origin's."""
        return self.status in (200, 101)


def scheme(kind: str) -> str:
    return HTTPS if kind == HTTPS else HTTP


def entry(here: Here, name: str, kind: str, way: Way, **keys: object) -> Config:
    """An entry of `upstreams` with two endpoints of the origin."""
    origin, seconds = (here.secure if scheme(kind) == HTTPS else here.plain), 1 if way.state == HUNG else 20
    tls: Config = {"tls": here.upstream_tls()} if scheme(kind) == HTTPS else {}
    return {
        "name": name,
        "scheme": scheme(kind),
        "endpoints": [f"{host}:{origin.port}" for host in ENDPOINTS],
        "proxy": way.config(here.pair),
        "connectTimeout": f"{seconds}s",
        "outlier": {"consecutiveFailures": 2},
        **tls,
        **keys,
    }


def route(name: str, kind: str, way: Way) -> Config:
    """A route of that name and prefix to the entry of that name."""
    keys: Config = {"upgrade": [PROTOCOL]} if kind == UPGRADE else {}
    timeout = "2s" if way.state == HUNG else "30s"
    return {"name": name, "match": {"pathPrefix": f"/{name}"}, "upstream": name, "timeout": timeout, **keys}


async def ask(gateway: Gateway, name: str, kind: str) -> list[Answer]:
    one = switched if kind == UPGRADE else got
    return await asyncio.gather(*(one(gateway.address, f"/{name}/{number}") for number in range(REQUESTS)))


async def got(address: str, path: str) -> Answer:
    connection = Connection(address)
    try:
        answer = await connection.ask(path=path)
        return Answer(answer.status, answer.body)
    except BROKEN_OFF:
        return Answer(CUT)
    finally:
        connection.close()


async def switched(address: str, path: str) -> Answer:
    """Switches to the protocol of lines, and has one sent back. The body is what came after the head."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    sent = path.encode()
    try:
        fields = "".join(f"{name}: {value}\r\n" for name, value in SWITCH.items())
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n".encode())
        status = int((await reader.readuntil(b"\r\n\r\n")).split()[1])
        if status != 101:
            return Answer(status)
        writer.write(sent)
        return Answer(status, await reader.readexactly(len(HELLO + sent)))
    except BROKEN_OFF:
        return Answer(CUT)
    finally:
        writer.transport.abort()


def right(kind: str, path: str) -> Answer:
    """The origin's answer."""
    return Answer(101, HELLO + path.encode()) if kind == UPGRADE else Answer(200, path.encode())


async def curl(here: Here, way: Way, kind: str, name: str) -> Answer:
    """Asks as the gateway is asked, but switches to a protocol of one line: curl does not speak it."""
    origin, path = (here.secure if scheme(kind) == HTTPS else here.plain), f"/{name}/0"
    options: list[object] = ["--max-time", 2 if way.state == HUNG else 30]
    options += ["--proxy-user", f"{USER}:{PASSWORD}"] if way.has_credential else []
    if kind == UPGRADE:
        path += ONCE
        options += [option for name, value in SWITCH.items() for option in ("--header", f"{name}: {value}")]
        options += ["--proxytunnel"] if way.takes_requests else []
    return await curls(
        *("--proxy", way.url, "--noproxy", "", "--proxy-cacert", here.pair.certificate),
        *("--cacert", here.pair.certificate, *options, f"{scheme(kind)}://{origin.address}{path}"),
    )


async def curls(*options: object, under: tuple[str, ...] = ()) -> Answer:
    command = ("curl", "--silent", "--http1.1", "--write-out", "\n%{http_code}")
    status, text = await output(*under, *command, *options)
    body, _, code = text.rpartition("\n")
    return Answer(CUT if status else int(code), body.encode())


def curls_right(kind: str, path: str) -> Answer:
    return Answer(101, HELLO) if kind == UPGRADE else right(kind, path)


@dataclass(frozen=True)
class Wanted:
    """The outcome that a request has to have."""

    status: int
    label: str = ""
    """That of a proxy's failure; empty for an answer, or a failure that is not known to be a proxy's."""
    words: str = ""
    """Part of the failure's sentence."""
    of_server: bool = False
    """Whether it counts for the endpoint."""

    def __str__(self) -> str:
        return f"{self.status} {self.label}".rstrip()


class Told:
    """A gateway's log and its page of metrics, after requests have failed."""

    def __init__(self, log: str, page: Page) -> None:
        self.log, self.page = log, page

    @staticmethod
    async def by(gateway: Gateway) -> "Told":
        return Told(gateway.process.log.read_text(), await gateway.page())

    @cached_property
    def failures(self) -> dict[str, dict[str, str]]:
        """The fields of the first line about each route's failures.

        >>> line = 'time=1 level=warn msg="request failed" route=a status=502 text="no \\\\"way\\\\""'
        >>> Told(f"{line}\\ntime=2 msg=other route=a\\n", Page("")).failures["a"]["text"]
        'no "way"'
        """
        found: dict[str, dict[str, str]] = {}
        for line in self.log.splitlines():
            fields = {name: unquoted(value) for name, value in FIELD.findall(line)}
            if fields.get("msg") == "request failed":
                found.setdefault(fields["route"], fields)
        return found

    def blamed(self, name: str) -> list[str]:
        """The failures that count against the endpoints of an entry, and their consequences."""
        ejections = self.page.sum("weir_endpoint_ejections_total", upstream=name)
        failures = self.page.sum("weir_endpoint_attempts_total", upstream=name, result="failure")
        available = self.page.sum("weir_upstream_endpoints", upstream=name, state="available")
        counts = {"endpoints ejected": ejections, "failures counted": failures}
        found = [f"{number:.0f} {what}" for what, number in counts.items() if number]
        if available != len(ENDPOINTS):
            found.append(f"{available:.0f} endpoints available")
        return found

    def wrong(self, name: str, way: Way, wanted: Wanted) -> list[str]:
        """The parts of what is told of a failure that are wrong. The route and the entry have this name.

        >>> way = Way("a-open", "http", "open", "127.0.0.1:1")
        >>> Told("", Page('weir_upstream_endpoints{upstream="a",state="available"} 1\\n')).wrong("a", way, Wanted(502, "proxy_refused"))
        ['no line in the log', '1 endpoints available', 'error_type is ']
        """
        if not wanted.label:
            return []
        found = self.wrong_line(self.failures.get(name), way, wanted)
        blamed = self.blamed(name)
        if wanted.of_server:
            found += [] if blamed else ["no endpoint is blamed"]
        else:
            found += blamed
        labels = self.page.by("error_type", "http_client_request_duration_seconds_count", server_address=name)
        if set(labels) != {wanted.label}:
            found.append(f"error_type is {', '.join(labels)}")
        return found

    def wrong_line(self, line: dict[str, str] | None, way: Way, wanted: Wanted) -> list[str]:
        if not line:
            return ["no line in the log"]
        found = [] if line["error"] == wanted.label else [f"error={line['error']}"]
        if way.url not in line["text"] or wanted.words not in line["text"]:
            found.append(f"says {line['text']!r}")
        return found


def unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value


def wrong_answers(answers: list[Answer], rights: list[Answer], wanted: Wanted) -> list[str]:
    """
    >>> wrong_answers([Answer(200, b"a"), Answer(200, b"b"), Answer(502)], [Answer(200, b"a")] * 3, Wanted(200))
    ['1 × 502', '1 wrong bodies']
    """
    others = Counter(answer.status for answer in answers if answer.status != wanted.status)
    found = [f"{number} × {status or 'no answer'}" for status, number in others.items()]
    if Answer(wanted.status).good:
        bodies = sum(answer != good for answer, good in zip(answers, rights) if answer.good)
        found += [f"{bodies} wrong bodies"] if bodies else []
    return found
