"""Judges the spans of a case in all of their fields."""

import json
import re
from typing import Any

from lab.telemetry.cases import SECONDS, SERVER, Case, Facts, Some, Wanted
from lab.telemetry.collector import Span
from lab.telemetry.rig import Rig

PHASES = ("dns", "connect", "tunnel", "tls", "sent", "head")
LONGEST = 512
KNOWN = ("GET", "HEAD", "POST", "QUERY", "CONNECT", "OPTIONS")
HAS_PARENT, IS_REMOTE = 0x100, 0x200


def agent(span: Span) -> str:
    return str(span.attributes.get("user_agent.original", "")).split(" ")[0]


def judged(case: Case, status: int, rig: Rig, began: int) -> list[str]:
    """The faults of the spans of a case."""
    spans = rig.collector.spans
    own = [span for span in spans if span.kind == SERVER and agent(span) == case.name]
    if not case.spans:
        return [f"{case.name}: there is a span"] if own else [f"{case.name}: {one}" for one in joins(case, None, [], rig)]
    if len(own) != 1:
        return [f"{case.name}: {len(own)} spans of the request"]
    children = sorted((span for span in spans if span.parent == own[0].id), key=lambda span: (span.name == "oauth2.token", span.start))
    present = [*own, *children]
    if len(present) != len(case.spans):
        return [f"{case.name}: {len(present)} spans: {', '.join(span.name for span in present)}"]
    found = []
    if status != own[0].attributes.get("http.response.status_code", 0):
        found.append(f"the client got {status}")
    attempts = [span for span in children if span.name != "oauth2.token"]
    for number, (span, wanted) in enumerate(zip(present, case.spans, strict=True)):
        usual = of_server(case) if wanted.kind == SERVER else of_attempt(case, rig, number - 1, span)
        if wanted.name == "oauth2.token":
            usual = {}
        own_facts = {key: rig.filled(value, case) if isinstance(value, str) else value for key, value in wanted.but.items()}
        facts = {**usual, **own_facts}
        differs = unlike(span.attributes, facts) + events(span, wanted) + shape(span, wanted, case, own[0], attempts, rig, began)
        found += [f"span {number + 1}, {span.name}: {one}" for one in differs]
    found += joins(case, own[0], attempts, rig)
    return [f"{case.name}: {one}" for one in found]


def of_server(case: Case) -> dict[str, Any]:
    """The attributes of each request's span."""
    path = shown(case)
    return {
        **of_method(case),
        "url.path": None if case.method == "CONNECT" else cut(path),
        "url.scheme": "http",
        "network.protocol.version": case.version,
        "http.route": None if case.path == "/nothing" else case.at,
        "client.address": "127.0.0.1",
        "server.address": "shop.test",
        "server.port": 81,
        "user_agent.original": cut(f"{case.name} {case.agent}".strip()),
    }


def shown(case: Case) -> str:
    """The path that is shown, which has neither an authority nor a query."""
    return case.target.removeprefix("http://shop.test:81").partition("?")[0]


def cut(text: str) -> str:
    """The beginning of a text that a client has chosen, between two characters; octets that are none are replaced.

    >>> cut("\\udcff") == "\\ufffd", len(cut("x" * 511 + "\\u00e9"))
    (True, 511)
    """
    shown = text.encode(errors="surrogateescape").decode(errors="replace")
    return shown.encode()[:LONGEST].decode(errors="ignore")


def of_method(case: Case) -> dict[str, Any]:
    if case.method in KNOWN:
        return {"http.request.method": case.method}
    return {"http.request.method": "_OTHER", "http.request.method_original": case.method}


def of_attempt(case: Case, rig: Rig, before: int, span: Span) -> dict[str, Any]:
    """The attributes of each attempt, of which so many were before it."""
    upstream = case.route.get("upstream", "")
    host, port = rig.host(case), rig.origin.port
    if "DEAD" in upstream:
        port = rig.dead
    peer = host
    if entries := next(one.entries for one in rig.cases if one.name == case.at):
        # A fallback leads to the second one.
        entry = entries[min(before, len(entries) - 1)]
        host = entry["name"]
        places = json.dumps(entry["endpoints"])
        # Without a port that all endpoints share it has that of the scheme.
        port = 80 if "LIVE" in places and "DEAD" in places else rig.dead if "DEAD" in places else port
    if case.method == "CONNECT":
        host = peer = "127.0.0.1"
        port = rig.tunnels
    path = None if case.method == "CONNECT" else shown(case)
    place = f"{host}:{port}".removesuffix(":80")
    return {
        **of_method(case),
        "server.address": host,
        "server.port": port,
        "url.scheme": "http",
        "url.path": path and cut(path),
        "url.full": path and cut(f"http://{place}{cut(path)}"),
        "network.peer.address": peer,
        "network.peer.port": rig.tunnels if case.method == "CONNECT" else rig.origin.port,
        "network.protocol.version": "1.1",
        "http.request.resend_count": before or None,
    }


def unlike(present: Facts, wanted: Facts) -> list[str]:
    """
    >>> unlike({"a": 1, "b": 2.5, "c": 0}, {"a": 1.0, "b": SECONDS, "d": "x", "e": None})
    ['a is 1, not 1.0', 'c is 0, not None', "d is None, not 'x'"]
    """
    found = []
    for key in sorted({**present, **wanted}):
        value, due = present.get(key), wanted.get(key)
        if not (due.takes(value) if isinstance(due, Some) else (type(value), value) == (type(due), due)):
            found.append(f"{key} is {value!r}, not {due!r}")
    return found


def events(span: Span, wanted: Wanted) -> list[str]:
    """The faults of the events. The ends of phases depend on the time, and are at attempts alone."""
    due = [event for event in wanted.events if event[0] not in PHASES]
    present = [event for event in span.events if event.name not in PHASES]
    phases = [event.name for event in span.events if event.name in PHASES]
    found = []
    if [event.name for event in present] != [name for name, _ in due]:
        return [f"its events are {', '.join(event.name for event in present) or 'none'}"]
    for event, (name, facts) in zip(present, due, strict=True):
        found += [f"event {name}: {one}" for one in unlike(event.attributes, facts)]
    if sorted(phases, key=PHASES.index) != phases or len(set(phases)) < len(phases) or phases and span.kind == SERVER:
        found.append(f"its phases are {', '.join(phases)}")
    found += [f"{name} is no event" for name, _ in wanted.events if name in PHASES and name not in phases]
    times = [span.start, *(event.time for event in span.events), span.end]
    return found + ([] if times == sorted(times) else [f"its events are at {[time - span.start for time in times]}"])


def shape(span: Span, wanted: Wanted, case: Case, root: Span, attempts: list[Span], rig: Rig, began: int) -> list[str]:
    """The faults of all that is neither an attribute nor an event."""
    trace, parent, flags, state = caller(case)
    is_root = span is root
    name = wanted.name or ("HTTP" if case.method not in KNOWN else case.method) + (f" {case.at}" if is_root else "")
    before = attempts[attempts.index(span) - 1] if span in attempts[1:] else None
    # A trace that begins here may have the flag of a random identifier.
    flags = flags if trace else span.flags & 2 | (1 if rig.trace["sample"] == 1 else 0)
    link = [(span.trace, before.id, HAS_PARENT | flags)] if before else []
    pairs = {
        "name": (span.name, name),
        "kind": (span.kind, wanted.kind),
        "failed": (span.failed, wanted.failed),
        "service": (span.service, "shop"),
        "trace": (span.trace, trace or root.trace),
        "parent": (span.parent, parent if is_root else root.id),
        "links": (span.links, link),
        "state": (span.state, state),
        "flags": (span.flags, flags | HAS_PARENT | (IS_REMOTE if is_root and trace else 0)),
        "identifiers": ((len(span.trace), len(span.id)), (32, 16)),
        "time": (began <= root.start <= span.start <= span.end <= root.end, True),
    }
    return [f"{key} is {present!r}, not {other!r}" for key, (present, other) in pairs.items() if present != other]


def caller(case: Case) -> tuple[str, str, int, str]:
    """The trace, the parent, the flags and the state that a caller has sent."""
    lines = dict(line.split(": ", 1) for line in case.fields.splitlines() if ": " in line)
    parts = lines.get("traceparent", "").split("-")
    if len(parts) != 4 or case.fields.count("traceparent") > 1:
        return "", "", 0, ""
    return parts[1], parts[2], int(parts[3], 16), lines.get("tracestate", "")


def joins(case: Case, root: Span | None, attempts: list[Span], rig: Rig) -> list[str]:
    """Whether the upstream has got the identifiers of the attempts, or of what is not recorded those of the caller."""
    asked = rig.origin.seen[case.name]
    got = sorted(one.fields.get("traceparent", "") for one in asked)
    states = {one.fields.get("tracestate", "") for one in asked}
    trace, parent, flags, state = caller(case)
    if root and root.flags & 1:
        reached = [span for span in attempts if span.attributes.get("network.peer.port") == rig.origin.port]
        due = sorted(f"00-{span.trace}-{span.id}-{span.flags & 0xFF:02x}" for span in reached)
    elif trace:
        due = [f"00-{trace}-{parent}-{flags:02x}"] * len(asked)
    else:
        # The trace has begun here, and others decide alike.
        due = [one for one in got if re.fullmatch(f"00-{root.trace if root else '[0-9a-f]{32}'}-[0-9a-f]{{16}}-0[02]", one)]
    found = [] if got == due else [f"the upstream got {got}, not {due}"]
    return found + [f"the upstream got the state {one!r}" for one in sorted(states - {state})]
