"""The row about proxies that do what none should, each with a fault of its own, on the way to one origin."""

import asyncio
import base64
import ssl
from dataclasses import dataclass

from lab.credentials.server import request
from lab.endure.rows import Bar
from lab.gateway import memory
from lab.proxies.asking import (
    HTTP,
    HTTPS,
    LATE,
    REFUSED,
    TLS,
    UNAUTHORIZED,
    UNREACHABLE,
    Told,
    Wanted,
    ask,
    curl,
    entry,
    route,
    wrong_answers,
)
from lab.proxies.daemons import OPEN, PASSWORD, USER
from lab.proxies.scripted import NO_METHOD, Script, Scripted, hang, socks_place, socks_reply
from lab.proxies.ways import HOST, HUNG, Here, Way, server_context
from lab.tls import Pair

BAD = b"HTTP/1.1 400 Bad\r\n\r\n"
HUGE, LINE = 64 << 20, b"X-Filler: " + b"f" * 4000 + b"\r\n"
LONGEST_SENTENCE = 200 + 200
"""Characters: of a proxy's answer, and of what is said about it."""
PEAK = 128
"""MiB of the gateway's memory, at most."""


@dataclass(frozen=True)
class Fault:
    name: str
    script: Script
    label: str
    """That of the failure; empty: the proxy's answer is the client's."""
    scheme: str = "http"
    """That of the proxy."""
    to: str = HTTPS
    """The kind of the requests."""
    status: int = 502
    words: str = ""
    """Part of the failure's sentence."""
    of_server: bool = False
    """Whether the proxy says that it can't reach the endpoint, which may then be left out."""
    tls: str = "right"
    """The certificate of an `https` proxy: `right`, `wrong`, or `none` for one that does not speak TLS."""
    has_credential: bool = False


def answers(answer: str | bytes) -> Script:
    """Answers a request, by octets or by a status with its phrase, and closes the connection."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(f"HTTP/1.1 {answer}\r\n\r\n".encode() if isinstance(answer, str) else answer)
        await writer.drain()

    return script


async def repeats(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Tells what it got as a credential."""
    asked = await request(reader)
    writer.write(f"HTTP/1.1 403 not {asked.fields.get('proxy-authorization')}\r\nContent-Length: 0\r\n\r\n".encode())
    await writer.drain()


def blurts(what: bytes) -> Script:
    """Answers before there is a request."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(what)
        await writer.drain()

    return script


async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    pass


async def drips(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request(reader)
    for octet in b"HTTP/1.1 200 Made\r\n" * 100:
        writer.write(bytes([octet]))
        await writer.drain()
        await asyncio.sleep(0.1)


async def floods(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A head without an end."""
    await request(reader)
    writer.write(b"HTTP/1.1 200 Made\r\n")
    for _ in range(HUGE // len(LINE)):
        writer.write(LINE)
        await writer.drain()


def socks(reply: bytes, method: bytes = b"\x05\x00") -> Script:
    """Answers the choice of a method so, and if that is one, the request."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly((await reader.readexactly(2))[1])
        writer.write(method)
        if method == b"\x05\x00":
            await socks_place(reader)
            writer.write(reply)
        elif method == b"\x05\x02":
            await reader.read(1024)
            writer.write(reply)
        await writer.drain()

    return script


def replies(number: int, of_server: bool = False) -> Fault:
    """A SOCKS reply (RFC 1928, section 6)."""
    return Fault(f"socks-reply-{number}", socks(socks_reply(number)), REFUSED, "socks5h", of_server=of_server)


def refuses(status: int, of_server: bool = False) -> Fault:
    words = f"{status} No tunnel"
    return Fault(f"connect-{status}", answers(words), REFUSED, words=words, of_server=of_server)


FAULTS = [
    refuses(302),
    refuses(400),
    refuses(403),
    refuses(429),
    refuses(500),
    refuses(502, of_server=True),
    refuses(503, of_server=True),
    refuses(504, of_server=True),
    Fault("connect-407", answers("407 Who are you"), UNAUTHORIZED, words="407 Who are you"),
    Fault("connect-407-ntlm", answers("407 Who\r\nProxy-Authenticate: NTLM"), UNAUTHORIZED),
    Fault("connect-407-digest", answers('407 Who\r\nProxy-Authenticate: Digest realm="a", nonce="b"'), UNAUTHORIZED),
    Fault("connect-long", answers("403 " + "long " * 2000), REFUSED, words="long"),
    Fault("connect-controls", answers("403 \x1b[31mred\x07"), REFUSED, words="403"),
    Fault("connect-repeats", repeats, REFUSED, words="403 not", has_credential=True),
    Fault("connect-flood", floods, UNREACHABLE),
    Fault("connect-garbage", answers(b"SSH-2.0-proxy\r\n\r\n"), UNREACHABLE),
    Fault("connect-closes", answers(b""), UNREACHABLE),
    Fault("connect-half", answers(b"HTTP/1.1 200 Ma"), UNREACHABLE),
    Fault("connect-drips", drips, LATE, status=504),
    Fault("connect-hangs", hang, LATE, status=504),
    Fault("closes", closes, UNREACHABLE),
    Fault("tls-none", blurts(BAD), TLS, "https", tls="none"),
    Fault("tls-wrong", hang, TLS, "https", tls="wrong"),
    Fault("tls-hangs", hang, LATE, "https", status=504, tls="none"),
    Fault("tls-403", answers("403 No tunnel"), REFUSED, "https", words="403 No tunnel"),
    Fault("socks-no-method", socks(b"", NO_METHOD), UNAUTHORIZED, "socks5h"),
    Fault("socks-user", socks(b"\x01\x01", b"\x05\x02"), UNAUTHORIZED, "socks5h", has_credential=True),
    replies(1),
    replies(2),
    *(replies(number, of_server=True) for number in (3, 4, 5, 6)),
    replies(7),
    replies(8),
    Fault("socks-garbage", blurts(BAD), UNREACHABLE, "socks5h"),
    Fault("socks-closes", closes, UNREACHABLE, "socks5h"),
    Fault("socks-hangs", hang, LATE, "socks5h", status=504),
    Fault("http-407", answers("407 Who\r\nContent-Length: 0"), UNAUTHORIZED, to=HTTP),
    Fault("http-403", answers("403 No\r\nContent-Length: 0"), "", to=HTTP, status=403),
    Fault("http-502", answers("502 No\r\nContent-Length: 0"), "", to=HTTP, status=502, of_server=True),
]


class Case:
    """A fault, and the proxy that has it."""

    def __init__(self, here: Here, fault: Fault, context: ssl.SSLContext | None) -> None:
        self.fault = fault
        self.proxy = Scripted(fault.script, context)
        state = HUNG if fault.status == 504 else OPEN
        self.way = Way(fault.name, fault.scheme, state, self.proxy.address, fault.has_credential)
        self.wanted = Wanted(fault.status, fault.label, fault.words, fault.of_server)
        self.entry = entry(here, fault.name, fault.to, self.way)
        self.route = route(fault.name, fault.to, self.way)


async def faults(here: Here) -> list[Bar]:
    wrong_pair = await Pair(here.place.directory, "wrong", HOST).make()
    contexts = {"right": server_context(here.pair), "wrong": server_context(wrong_pair), "none": None}
    cases = [Case(here, one, contexts[one.tls] if one.scheme == "https" else None) for one in FAULTS]
    for case in cases:
        await case.proxy.start()
    config = {"upstreams": [case.entry for case in cases], "routes": [case.route for case in cases]}
    gateway = await here.gateway("faults", config)
    answers, beside = await asyncio.gather(
        asyncio.gather(*(ask(gateway, case.fault.name, case.fault.to) for case in cases)),
        asyncio.gather(*(curl(here, case.way, case.fault.to, case.fault.name) for case in cases)),
    )
    told, peak = await Told.by(gateway), memory(gateway.pid, "VmHWM") / 1024
    found = {
        case.fault.name: wrong_answers(came, [], case.wanted)
        + told.wrong(case.fault.name, case.way, case.wanted)
        + (["curl has got the origin's answer"] if other.good else [])
        for case, came, other in zip(cases, answers, beside)
    }
    here.place.notes += [f"{name}: {line.get('error', '')}, {line.get('text', '')}" for name, line in told.failures.items()]
    await gateway.process.end()
    count = sum(not texts for texts in found.values())
    longest = max((len(line.get("text", "")) for line in told.failures.values()), default=0)
    shown = secrets_in(told)
    return [
        Bar(f"{count} of {len(cases)} faults have the right failure", count == len(cases)),
        *(Bar(f"{name}: {'; '.join(texts)}", False) for name, texts in found.items() if texts),
        Bar(f"the longest sentence has {longest} characters", longest <= LONGEST_SENTENCE),
        Bar(f"{shown} times the password was shown", shown == 0),
        Bar(f"the gateway had at most {peak:.0f} MiB", peak < PEAK),
    ]


def secrets_in(told: Told) -> int:
    """How often the log and the page show the credential of the proxies, in plain text or as Basic has it."""
    encoded = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return sum(text.count(secret) for text in (told.log, told.page.text) for secret in (PASSWORD, encoded))
