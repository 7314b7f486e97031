"""The table of the row about requests: what is asked, what the upstream answers, and what the spans have to be."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

SERVER, CLIENT = 2, 3


class Some(Enum):
    """Stands for values that differ from run to run."""

    SECONDS = "0 s or more"
    WAITED = "more than 1 ms"
    TEXT = "a text"
    NUMBER = "a whole number from 1 on"

    def takes(self, value: Any) -> bool:
        """
        >>> Some.WAITED.takes(0.0), Some.SECONDS.takes(0.0), Some.TEXT.takes(""), Some.NUMBER.takes(True)
        (False, True, False, False)
        """
        match self:
            case Some.SECONDS | Some.WAITED:
                return isinstance(value, float) and value >= (0 if self is Some.SECONDS else 0.001)
            case Some.TEXT:
                return isinstance(value, str) and value != ""
            case Some.NUMBER:
                return type(value) is int and value > 0


SECONDS, WAITED, TEXT, NUMBER = Some
Facts = Mapping[str, Any]
"""Attributes, where None is for one that is not there."""


@dataclass(frozen=True)
class Wanted:
    """A span: beside `but` it has the attributes that each of its kind has."""

    kind: int
    name: str
    """Empty for the usual one."""
    failed: bool
    events: tuple[tuple[str, Facts], ...]
    but: Facts


@dataclass(frozen=True)
class Case:
    name: str
    answers: tuple[str, ...]
    """Those of the upstream, of which the last goes on."""
    spans: tuple[Wanted, ...]
    """That of the request, then those of its attempts in the order of their beginnings; none if nothing is recorded."""
    route: Facts = field(default_factory=dict)
    """Further keys of its route. LIVE and DEAD are addresses."""
    entries: tuple[Facts, ...] = ()
    """Entries of `upstreams`."""
    like: str = ""
    """The case before it whose route it shares."""
    beside: bool = False
    """It is asked for while that one is under way."""
    method: str = "GET"
    path: str = ""
    """The usual one has the name of the route."""
    fields: str = ""
    agent: str = ""
    """The text behind the name in User-Agent."""
    body: bytes = b""
    version: str = "1.1"
    leaves: bool = False
    """The client leaves when the upstream has the request."""

    @property
    def at(self) -> str:
        """The name of its route."""
        return self.like or self.name

    @property
    def target(self) -> str:
        return self.path or f"/{self.at}"


def server(
    status: int, *events: tuple[str, Facts], outcome: str = "", error: str = "", name: str = "", but: Facts | None = None
) -> Wanted:
    own = outcome or ("success" if status < 400 else "http_error")
    error = error or (str(status) if status >= 500 and not outcome else "")
    facts = {"http.response.status_code": status or None, "weir.outcome": own, "error.type": error or None}
    return Wanted(SERVER, name, bool(error), events, {**facts, **(but or {})})


def attempt(
    status: int = 0, *, error: str = "", because: str = "", name: str = "", head: bool = False, but: Facts | None = None
) -> Wanted:
    """`head` says that its head has to be an event."""
    error = error or (str(status) if status >= 400 else "")
    facts: dict[str, Any] = {"http.response.status_code": status or None, "error.type": error or None}
    facts["weir.retry.reason"] = because or None
    facts["weir.queue.wait"] = SECONDS
    if not status:
        facts["network.protocol.version"] = None
    return Wanted(CLIENT, name, bool(error), (("head", {}),) if head else (), {**facts, **(but or {})})


def unreached(**more: Any) -> Wanted:
    """An attempt that no connection has."""
    nowhere = {"network.peer.address": None, "network.peer.port": None}
    return attempt(error="cannot_connect_to_host", **{**more, "but": {**nowhere, **more.get("but", {})}})


def abandoned(but: Facts | None = None) -> Wanted:
    """An attempt that another one has made useless."""
    return attempt(but={"weir.outcome": "abandoned", **(but or {})})


def token(credential: str, error: str = "") -> Wanted:
    return Wanted(CLIENT, "oauth2.token", bool(error), (), {"weir.credential": credential, "error.type": error or None})


def retry(reason: str) -> tuple[str, Facts]:
    return "retry", {"weir.retry.reason": reason, "weir.retry.delay": SECONDS}


def denied(reason: str) -> tuple[str, Facts]:
    return "retry denied", {"weir.retry.denied": reason}


def shed(reason: str) -> tuple[str, Facts]:
    return "shed", {"weir.shed.reason": reason}


PACED: tuple[str, Facts] = ("paced", {"weir.pace.wait": SECONDS})
FALLBACK: tuple[str, Facts] = ("fallback", {})
GONE: tuple[str, Facts] = ("abandoned", {"weir.phase": "upstream"})

HEDGE = {"weir.hedge": True, "weir.queue.wait": None}
"""A hedge never waits for a slot."""
ONCE = {"retry": {"limit": 1, "backoff": {"base": "1ms"}}}
OPERATED = {"operations": ["/operated/{id}"]}
TEMPLATE = {"url.template": "/operated/{id}"}
HEDGED = {"hedge": {"after": "40ms"}}
NO_BUDGET = {"ratio": 0, "minimumPerSecond": 0, "burst": 0}
ENDPOINTS = {"endpoints": [{"address": "DEAD", "priority": 0}, {"address": "LIVE", "priority": 1}]}
OF_LIVE = {"weir.endpoint": "LIVE"}
OF_DEAD = {"weir.endpoint": "DEAD"}
LONG = "x" * 600
CALLER = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
PLAIN = (server(200), attempt(200))


def caller(number: int, flags: str, state: str = "") -> str:
    """The fields of a caller with a trace of its own."""
    return f"traceparent: 00-{CALLER[:-2]}{number:02x}-{PARENT}-{flags}\r\n" + (f"tracestate: {state}\r\n" if state else "")


CASES = (
    # Methods.
    Case("get", ("200",), PLAIN),
    Case("head", ("200",), PLAIN, method="HEAD"),
    Case("post", ("200",), PLAIN, method="POST", body=b"secret=1"),
    Case("query", ("200",), PLAIN, method="QUERY", body=b"secret=1"),
    Case("unknown", ("200",), PLAIN, method="BREW"),
    Case("longest", ("200",), PLAIN, method="M" * 32),
    Case("unreadable", (), (), method="M" * 33),
    Case("old", ("200",), PLAIN, version="1.0"),
    Case("options", ("200",), (server(200), attempt(200, but={"url.path": None, "url.full": None})),
         {"match": {"methods": ["OPTIONS"]}}, method="OPTIONS", path="*"),
    Case("absolute", ("200",), (server(200), attempt(200)), path="http://shop.test:81/absolute?key=secret"),
    # Statuses of the upstream.
    Case("missing", ("404",), (server(404), attempt(404))),
    Case("failing", ("503",), (server(503), attempt(503))),
    Case("moved", ("302 Location: /get",), (server(302), attempt(302))),
    Case("late", ("late",), (server(200), attempt(200, head=True))),
    # Attempts.
    Case("retried", ("503", "200"), (server(200, retry("503")), attempt(503), attempt(200, because="503")), ONCE),
    Case("lost", ("lost", "200"), (
        server(200, retry("network_connection_lost")),
        attempt(error="network_connection_lost"),
        attempt(200, because="network_connection_lost"),
    ), ONCE),
    Case("spent", ("503",), (server(503, retry("503"), denied("limit")), attempt(503), attempt(503, because="503")), ONCE),
    Case("budget", ("503",), (server(503, denied("budget")), attempt(503)), {"retry": {"limit": 1, "budget": NO_BUDGET}}),
    Case("once", ("503",), (server(503, denied("method")), attempt(503)), ONCE, method="POST", body=b"x"),
    Case("final", ("503 X-No-Retry: 1",), (server(503, denied("policy")), attempt(503)), ONCE),
    Case("longer", ("503 Retry-After: 9",), (server(503, denied("deadline")), attempt(503)), {**ONCE, "timeout": "1s"}),
    Case("won", ("hang", "200"), (server(200), abandoned(), attempt(200, but=HEDGE)), HEDGED),
    Case("beaten", ("last", "hang"), (server(200), attempt(200, head=True), abandoned(but=HEDGE)), HEDGED),
    Case("worse", ("last", "503"), (server(200), attempt(200, head=True), attempt(503, but=HEDGE)), HEDGED),
    Case("alone", ("late",), (server(200, ("hedge denied", {})), attempt(200, head=True)),
         {**HEDGED, "retry": {"budget": NO_BUDGET}}),
    # Requests that wait, or are not sent.
    Case("turn", ("200",), PLAIN, {"pace": {"rate": "1/s", "wait": "0s"}}),
    Case("shed", ("200",), (server(503, shed("pace"), outcome="rejected", error="pace"),), like="turn"),
    Case("limited", ("429 Retry-After: 1",), (server(429), attempt(429)), {"pace": {}}),
    Case("paced", ("200",), (server(200, PACED), attempt(200)), like="limited"),
    Case("pause", ("429 Retry-After: 1",), (server(429), attempt(429)), {"pace": {"wait": "0s"}}),
    Case("paused", ("200",), (server(503, shed("paused"), outcome="rejected", error="paused"),), like="pause"),
    Case("first", ("late",), (server(200), attempt(200, head=True, but=OF_LIVE)), {"upstream": "narrow"},
         ({"name": "narrow", "endpoints": ["LIVE"], "connections": 1},)),
    Case("queued", ("200",), (server(200), attempt(200, but={**OF_LIVE, "weir.queue.wait": WAITED})), like="first", beside=True),
    Case("often", ("200",), PLAIN, {"rateLimits": [{"name": "hourly", "rate": "1/h"}]}),
    Case("too-often", ("200",), (server(429, outcome="rate_limited"),), like="often"),
    Case("left", ("hang",), (server(0, GONE, outcome="cancelled", error="explicitly_cancelled"), attempt(error="explicitly_cancelled")),
         leaves=True),
    Case("enough", ("begun",), (
        server(200, ("abandoned", {"weir.phase": "body"}), outcome="cancelled", error="explicitly_cancelled"),
        attempt(200, error="explicitly_cancelled"),
    ), leaves=True),
    # Failures.
    Case("cut", ("cut",), (
        server(200, outcome="transport_error", error="network_connection_lost"),
        attempt(200, error="network_connection_lost"),
    )),
    Case("hanging", ("hang",), (server(504, outcome="timeout", error="timed_out"), attempt(error="timed_out")),
         {"attemptTimeout": "60ms"}),
    Case("dead", (), (server(502, outcome="transport_error", error="cannot_connect_to_host"), unreached()),
         {"upstream": "http://DEAD"}),
    # Upstreams.
    Case("second", ("200",), (
        server(200, retry("cannot_connect_to_host")),
        unreached(but=OF_DEAD),
        attempt(200, because="cannot_connect_to_host", but=OF_LIVE),
    ), {"upstream": "pair"}, ({"name": "pair", **ENDPOINTS},)),
    Case("instead", (), (
        server(200, FALLBACK, outcome="answered"),
        unreached(but=OF_DEAD),
    ), {"upstream": "gone", "fallback": {"respond": {"status": 200, "body": "sorry"}}},
         ({"name": "gone", "endpoints": ["DEAD"]},)),
    Case("stays", (), (
        server(502, outcome="transport_error", error="cannot_connect_to_host"),
        unreached(but=OF_DEAD),
    ), {"upstream": "down", "fallback": {"upstream": "up"}},
         ({"name": "down", "endpoints": ["DEAD"]}, {"name": "up", "endpoints": ["LIVE"]}), method="POST", body=b"x"),
    Case("elsewhere", ("200",), (
        server(200, FALLBACK),
        unreached(but=OF_DEAD),
        attempt(200, but=OF_LIVE),
    ), {"upstream": "away", "fallback": {"upstream": "spare"}},
         ({"name": "away", "endpoints": ["DEAD"]}, {"name": "spare", "endpoints": ["LIVE"]})),
    # Tunnels.
    Case("tunnel", (), (
        server(200, but={"server.address": "127.0.0.1", "server.port": NUMBER}), attempt(200, name="connect"),
    ), method="CONNECT"),
    Case("upgraded", ("upgrade",), (server(101), attempt(101)), {"upgrade": ["websocket"]},
         fields="Connection: Upgrade\r\nUpgrade: websocket\r\n"),
    # Credentials.
    Case("token", ("200",), PLAIN, {"credential": "shop"}),
    Case("revoked", ("401 WWW-Authenticate: Bearer error=\"invalid_token\"", "200"),
         (server(200, retry("401")), attempt(401), attempt(200, because="401"), token("shop")), like="token"),
    Case("tokenless", (), (
        server(503, outcome="adaptation_failed", error="invalid_client"), token("stranger", "invalid_client"),
    ), {"credential": "stranger"}),
    # The gateway's own answers.
    Case("redirect", (), (server(308, outcome="answered"),), {"redirect": {"scheme": "https"}}),
    Case("respond", (), (server(503, outcome="answered"),), {"respond": {"status": 503}}),
    Case("nowhere", (), (server(404, outcome="no_route", name="GET"),), path="/nothing"),
    Case("locked", (), (server(401, outcome="unauthorized"),), {"auth": {"bearerTokens": ["secret"]}}),
    Case("forbidden", (), (server(403, outcome="forbidden"),), {"clients": {"deny": ["127.0.0.0/8"]}}),
    Case("large", (), (server(413, outcome="too_large"),), {"bodyBytes": 1}, method="POST", body=b"xx"),
    # Texts of clients.
    Case("operated", ("200",), (server(200), attempt(200, name="GET /operated/{id}", but=TEMPLATE)), OPERATED, path="/operated/7"),
    Case("unnamed", ("200",), PLAIN, like="operated"),
    Case("long", ("200",), PLAIN, path=f"/long/{LONG}", agent=LONG),
    Case("hidden", ("200",), PLAIN, path="/hidden?key=secret", fields="Authorization: secret\r\nCookie: secret\r\n"),
    Case("wide", ("200",), PLAIN, agent="x" * 506 + "\u00e9\u00e9"),
    Case("broken", ("200",), PLAIN, agent="\udcff\udcc3"),
    Case("control", ("200",), PLAIN, agent="a\tb"),
    Case("escaped", ("200",), PLAIN, path="/escaped/%C3%A9%FF%20x;y"),
    # Callers' traces.
    Case("sampled", ("200",), PLAIN, fields=caller(1, "01")),
    Case("random", ("200",), PLAIN, fields=caller(2, "03", "a=1,b=2")),
    Case("unsampled", ("200",), (), fields=caller(3, "00", "a=1")),
    Case("kept", ("503",), (server(503), attempt(503)), fields=caller(4, "00", "a=1")),
    Case("malformed", ("200",), PLAIN, fields=f"traceparent: 00-{CALLER}-{PARENT}\r\ntracestate: a=1\r\n"),
    Case("double", ("200",), PLAIN, fields=caller(5, "01") + caller(6, "01")),
)
KEPT = (
    Case("begun", ("200",), ()),
    Case("failed", ("503",), (server(503), attempt(503))),
    Case("repaired", ("503", "200"), (server(200, retry("503")), attempt(503), attempt(200, because="503")), ONCE),
    Case("slow", ("late",), (server(200), attempt(200, head=True))),
    Case("excused", ("404",), ()),
    Case("unrouted", (), (), path="/nothing"),
    Case("recorded", ("200",), PLAIN, fields=caller(7, "01")),
    Case("passed", ("200",), (), fields=caller(8, "00", "a=1")),
)
"""Those of a gateway that samples nothing and keeps failures, repetitions and what is slow."""
