"""The row about single requests: each case of a table has the spans that docs/telemetry.md says, and no other field."""

import time
from typing import Any

from lab.endure.rows import Bar
from lab.processes import Place
from lab.telemetry.cases import CASES, KEPT, NUMBER, SERVER, TEXT
from lab.telemetry.collector import fields, orphans, values
from lab.telemetry.judge import agent, judged, unlike
from lab.telemetry.rig import Rig

FIELDS = {
    "ExportTraceServiceRequest": "resource_spans",
    "ResourceSpans": "resource scope_spans",
    "Resource": "attributes",
    "ScopeSpans": "scope spans",
    "InstrumentationScope": "name version",
    "Span": "trace_id span_id trace_state parent_span_id name kind start_time_unix_nano end_time_unix_nano attributes events links"
    " status flags",
    "Event": "time_unix_nano name attributes",
    "Link": "trace_id span_id flags",
    "Status": "code",
    "KeyValue": "key value",
    "AnyValue": "string_value bool_value int_value double_value",
}
"""The fields of messages, each of which is judged."""
ALLOWED = {f"{message}.{name}" for message, names in FIELDS.items() for name in names.split()}
RESOURCE = {
    "service.name": "shop", "service.version": TEXT, "service.instance.id": TEXT, "host.name": TEXT, "process.pid": NUMBER,
    "telemetry.sdk.name": "weir", "telemetry.sdk.language": "swift", "telemetry.sdk.version": TEXT, "tier": "test",
}


async def requests(place: Place) -> list[Bar]:
    began = time.time_ns()
    # Some traces that begin here are recorded, and some are not.
    rigs = [Rig(place, "all", CASES, {"sample": 1, "keepFailures": True})]
    rigs.append(Rig(place, "kept", KEPT, {"sample": 0, "keepFailures": True, "keepSlower": "900ms"}))
    found: list[str] = []
    for rig in rigs:
        await rig.start(traces={"batch": 16})
        statuses = await rig.ask()
        # At its end the gateway exports what is left.
        await rig.gateway.process.end()
        found += [problem for case in rig.cases for problem in judged(case, statuses[case.name], rig, began)]
    bad = {problem.partition(":")[0] for problem in found}
    asked = [case.name for rig in rigs for case in rig.cases]
    spans = [span for rig in rigs for span in rig.collector.spans]
    messages = [message for rig in rigs for message in rig.collector.messages]
    strangers = [span for span in spans if span.kind == SERVER and agent(span) not in asked]
    lost = [span for span in orphans(spans) if span.kind != SERVER]
    unknown = sorted(set().union(*map(fields, messages)) - ALLOWED)
    wrong = sorted({problem for message in messages for problem in about(message)})
    place.notes += found + wrong
    return [
        Bar(f"{len(asked) - len(bad)} of {len(asked)} requests as documented", not bad),
        Bar(f"{len(spans)} spans, {len(strangers)} of no request", not strangers),
        Bar(f"{len(lost)} parents missing", not lost),
        Bar(f"unknown fields in {len(messages)} messages: {', '.join(unknown) or 'none'}", not unknown),
        Bar(f"{len(wrong)} wrong facts about the process", not wrong),
    ]


def about(message: Any) -> list[str]:
    """The faults of the resource and the scope."""
    found = []
    for of in message.resource_spans:
        found += unlike(values(of.resource.attributes), RESOURCE)
        for each in of.scope_spans:
            found += unlike({"name": each.scope.name, "version": each.scope.version}, {"name": "weir", "version": TEXT})
    return found
