"""Token services that do what none should, each with a fault of its own, until they are healed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from lab.credentials.server import Request, Server, response, told

Act = Callable[[asyncio.StreamWriter], Awaitable[None]]
BAD, LOST, LATE = "bad_response", "transport_error", "timeout"
"""Values of `reason`."""
HUGE = 1 << 30
CHUNK = b" " * 65536
TOKEN = "a-token-of-a-hostile-service"
ELSEWHERE = "/elsewhere"
"""Where the redirects lead."""


@dataclass(frozen=True)
class Fault:
    name: str
    act: bytes | Act
    reason: str = BAD
    """That of the refusal; empty: the answer is one that is taken."""
    least: int = 1
    """The seconds that `Retry-After` has at the beginning of the silence, at least."""


def token(value: str = f'"{TOKEN}"', kind: str = '"Bearer"', expires: str = "3600") -> bytes:
    """The values are in JSON; an empty one is left out.

    >>> token('"a"', "", "1e400").partition(b"\\r\\n\\r\\n")[2]
    b'{"access_token": "a", "expires_in": 1e400}'
    """
    members = {"access_token": value, "token_type": kind, "expires_in": expires}
    body = ", ".join(f'"{name}": {value}' for name, value in members.items() if value)
    return response(200, f"{{{body}}}", "Content-Type: application/json\r\n")


def refusal(word: str, status: int = 400, description: str = "as said") -> bytes:
    return told(status, {"error": word, "error_description": description})


async def hang(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def drip(writer: asyncio.StreamWriter) -> None:
    for octet in token():
        writer.write(bytes([octet]))
        await writer.drain()
        await asyncio.sleep(0.2)


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def break_off(writer: asyncio.StreamWriter) -> None:
    writer.write(token()[:-5])
    writer.close()


def flood(head: bytes, part: bytes) -> Act:
    async def act(writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        for _ in range(HUGE // len(CHUNK)):
            writer.write(part)
            await writer.drain()

    return act


JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
FAULTS = [
    Fault("hangs", hang, LATE),
    Fault("drips", drip, LATE),
    Fault("closes", close, LOST),
    Fault("breaks-off", break_off, LOST),
    Fault("status-500", response(500, "oops")),
    Fault("status-503", response(503, "", "Retry-After: 3\r\n"), least=3),
    Fault("status-201", token().replace(b"200 OK", b"201 Created")),
    Fault("status-204", response(204)),
    Fault("html", response(200, "<html>log in</html>", "Content-Type: text/html\r\n")),
    Fault("empty", response(200)),
    Fault("array", told(200, ["access_token"])),
    Fault("nested", response(200, "[" * 60_000)),
    Fault("gib", flood(JSON + b"Content-Length: %d\r\n\r\n" % HUGE, CHUNK)),
    Fault("gib-in-chunks", flood(JSON + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n%s\r\n" % (len(CHUNK), CHUNK))),
    Fault("no-token", token("")),
    Fault("empty-token", token('""')),
    Fault("number-token", token("1")),
    Fault("crlf-token", token(f'"{TOKEN}\\r\\nX-Admin: 1"')),
    Fault("umlaut-token", token(f'"{TOKEN}\\u00fc"')),
    Fault("long-token", token(f'"{"t" * 16_385}"')),
    Fault("mac", token(kind='"mac"')),
    Fault("not-applicable", token(kind='"N_A"')),
    Fault("expires-0", token(expires="0")),
    Fault("expires-minus", token(expires="-1")),
    Fault("expires-1e400", token(expires="1e400")),
    Fault("expires-never", token(expires='"never"')),
    Fault("expires-null", token(expires="null")),
    Fault("expires-true", token(expires="true")),
    Fault("expires-11-years", token(expires="346896000")),
    Fault("redirect-302", response(302, "", f"Location: {ELSEWHERE}\r\n")),
    Fault("redirect-307", response(307, "", f"Location: {ELSEWHERE}\r\n")),
    Fault("client", refusal("invalid_client", 401), "invalid_client"),
    Fault("grant", refusal("invalid_grant"), "invalid_grant"),
    Fault("scope", refusal("invalid_scope"), "invalid_scope"),
    Fault("own-word", refusal("slow_down")),
    Fault("controls", refusal("invalid_request", description="a\r\n\x1b[31mb\x00" * 100), "invalid_request"),
    Fault("expires-text", token(expires='"60"'), ""),
    Fault("expires-missing", token(expires=""), ""),
    Fault("type-missing", token(kind=""), ""),
    Fault("type-in-any-case", token(kind='"bEARER"'), ""),
]


class Hostile(Server):
    """Has a port of its own, so that no fault counts against the others at the gateway."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(self.harm)
        self.fault = fault
        self.healed = False
        self.followed = 0
        """How often a redirect was followed."""

    @property
    def url(self) -> str:
        return f"http://{self.address}/token"

    async def harm(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.followed += request.path == ELSEWHERE
        act = token() if self.healed or request.path == ELSEWHERE else self.fault.act
        if isinstance(act, bytes):
            writer.write(act)
        else:
            await act(writer)
