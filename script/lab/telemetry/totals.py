"""The row about metrics: after requests of all kinds the numbers that go by OTLP are those of the page, in each label set."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from lab.endure.rows import Bar
from lab.processes import Failure, Place
from lab.telemetry.cases import CASES, SERVER
from lab.telemetry.collector import fields, values
from lab.telemetry.rig import Rig

FIELDS = {
    "ExportMetricsServiceRequest": "resource_metrics",
    "ResourceMetrics": "resource scope_metrics",
    "Resource": "attributes",
    "ScopeMetrics": "scope metrics",
    "InstrumentationScope": "name version",
    "Metric": "name description unit sum gauge histogram",
    "Sum": "data_points aggregation_temporality is_monotonic",
    "Gauge": "data_points",
    "Histogram": "data_points aggregation_temporality",
    "NumberDataPoint": "attributes start_time_unix_nano time_unix_nano as_double",
    "HistogramDataPoint": "attributes start_time_unix_nano time_unix_nano count sum bucket_counts explicit_bounds exemplars",
    "Exemplar": "time_unix_nano as_double trace_id span_id",
    "KeyValue": "key value",
    "AnyValue": "string_value int_value",
}
"""The fields of messages, each of which is judged."""
ALLOWED = {f"{message}.{name}" for message, names in FIELDS.items() for name in names.split()}
MOVED = """
    http_client_request_body_size_bytes http_client_request_duration_seconds http_client_response_body_size_bytes
    http_server_request_duration_seconds weir_adaptation_duration_seconds weir_adaptation_failures_total weir_attempts_started_total
    weir_attempts_total weir_auth_refresh_duration_seconds weir_auth_refreshes_total weir_connections_opened_total
    weir_endpoint_attempts_total weir_gateway_limited_total weir_gateway_requests_abandoned_total
    weir_gateway_requests_failed_total weir_gateway_requests_total weir_gateway_tunnel_bytes_total weir_gateway_tunnels_total
    weir_hedges_total weir_listener_connections_accepted_total weir_listener_connections_closed_total weir_pace_wait_seconds
    weir_phase_duration_seconds weir_request_attempts weir_request_duration_seconds weir_requests_abandoned_total
    weir_requests_failed_total weir_requests_shed_total weir_requests_started_total weir_requests_total
    weir_response_wire_bytes_total weir_responses_limited_total weir_retries_denied_total weir_retries_total
    weir_retry_delay_seconds weir_upstream_pauses_total
""".split()
"""Families that these requests move, and nothing else does."""
OWN = ("process_", "weir_telemetry_queue")
"""Numbers that may go up and down between two pages which have the same."""
PATIENCE = 10
Key = tuple[str, frozenset[tuple[str, str]]]
"""A sample's name and labels."""


class Shown:
    """The numbers of a page, or of a message."""

    def __init__(self) -> None:
        self.samples: dict[Key, float] = {}
        self.types: dict[str, tuple[str, str]] = {}
        """The type and the help of each family."""

    def add(self, name: str, labels: dict[str, Any], value: float) -> None:
        labels = {**labels, **({"le": str(float(labels["le"]))} if "le" in labels else {})}
        key = (name, frozenset((one, text) for one, text in labels.items() if text != ""))
        if key in self.samples:
            raise Failure(f"{name} has {labels} twice")
        self.samples[key] = value

    def of_family(self, name: str) -> dict[Key, float]:
        names = {name, *(f"{name}_{part}" for part in ("bucket", "count", "sum"))}
        return {key: value for key, value in self.samples.items() if key[0] in names}


def of_page(text: str) -> Shown:
    """
    >>> of_page('# TYPE a histogram\\na_bucket{b="",le="1"} 2\\n').samples
    {('a_bucket', frozenset({('le', '1.0')})): 2.0}
    """
    shown = Shown()
    for family in text_string_to_metric_families(text):
        name = family.samples[0].name if family.type in ("counter", "gauge") and family.samples else family.name
        shown.types[name] = (family.type, family.documentation)
        for sample in family.samples:
            shown.add(sample.name, sample.labels, sample.value)
    return shown


def of_metrics(metrics: list[Any]) -> Shown:
    shown = Shown()
    for metric in metrics:
        kind = metric.WhichOneof("data")
        shown.types[metric.name] = ("counter" if kind == "sum" else kind, metric.description)
        for point in getattr(metric, kind).data_points:
            labels = values(point.attributes)
            if kind != "histogram":
                shown.add(metric.name, labels, point.as_double)
                continue
            shown.add(f"{metric.name}_count", labels, point.count)
            shown.add(f"{metric.name}_sum", labels, point.sum)
            below = 0
            for bound, count in zip([*point.explicit_bounds, float("inf")], point.bucket_counts, strict=True):
                below += count
                shown.add(f"{metric.name}_bucket", {**labels, "le": bound}, below)
    return shown


def points(metrics: list[Any]) -> Iterator[tuple[str, Any]]:
    for metric in metrics:
        kind = metric.WhichOneof("data")
        for point in getattr(metric, kind).data_points:
            yield kind, point


def odd(metrics: list[Any], began: int) -> list[str]:
    """Sums and histograms that are not cumulative, and times that can't be."""
    found = [one.name for one in metrics if one.HasField("histogram") and one.histogram.aggregation_temporality != 2]
    sums = [one for one in metrics if one.HasField("sum")]
    found += [one.name for one in sums if (one.sum.aggregation_temporality, one.sum.is_monotonic) != (2, True)]
    for kind, point in points(metrics):
        # The program began a moment after the row did, and the registry has milliseconds.
        start = began - 10**9 if kind == "gauge" else point.start_time_unix_nano
        if not began - 10**9 <= start <= point.time_unix_nano or kind == "gauge" and point.start_time_unix_nano:
            found.append(f"{kind} {start} {point.time_unix_nano}")
    return found


async def totals(place: Place) -> list[Bar]:
    rig = Rig(place, "weir", CASES, {"sample": 1})
    began = time.time_ns()
    await rig.start(metrics={"interval": "200ms"}, traces={"delay": "100ms"})
    await rig.ask()
    before = of_page((await rig.gateway.page()).text)
    metrics = await exported(rig, time.time_ns())
    after = of_page((await rig.gateway.page()).text)
    sent = of_metrics(metrics)
    await rig.gateway.process.end()
    still = {key for key, value in before.samples.items() if after.samples.get(key) == value and not key[0].startswith(OWN)}
    others = (key for key in still if sent.samples.get(key) != before.samples[key])
    wrong = [f"{key} is {sent.samples.get(key)}, not {before.samples[key]}" for key in others]
    # Those of the program itself move on; they are never less than before, nor more than later.
    moving = before.samples.keys() & after.samples.keys() - still
    counted = {key for key in moving if before.types.get(key[0], ("histogram", ""))[0] != "gauge"}
    wrong += [
        f"{key} is {sent.samples.get(key)}, not from {before.samples[key]} to {after.samples[key]}"
        for key in counted
        if not before.samples[key] <= sent.samples.get(key, -1) <= after.samples[key]
    ]
    strange = [f"{key} is not on the page" for key in sent.samples.keys() - after.samples.keys()]
    unlike = [f"{name}: {about}, {after.types.get(name)}" for name, about in sent.types.items() if after.types.get(name) != about]
    lazy = [name for name in MOVED if not any(value for key, value in sent.of_family(name).items() if key in still)]
    unknown = sorted(fields_of(rig) - ALLOWED)
    exemplars = [one for kind, point in points(metrics) if kind == "histogram" for one in point.exemplars]
    known = {(span.trace, span.id) for span in rig.collector.spans if span.kind == SERVER}
    lost = [one for one in exemplars if (one.trace_id.hex(), one.span_id.hex()) not in known]
    odds = odd(metrics, began)
    place.notes += sorted(map(str, [*wrong, *strange, *unlike, *odds]))[:20]
    return [
        Bar(f"{len(still)} samples that stand still and {len(counted)} that move, {len(wrong)} others by OTLP", not wrong),
        Bar(f"{len(MOVED) - len(lazy)} of {len(MOVED)} families moved{''.join(f', not {name}' for name in lazy)}", not lazy),
        Bar(f"{len(strange)} samples are not on the page", not strange),
        Bar(f"{len(unlike)} of {len(sent.types)} families with another type or text", not unlike),
        Bar(f"{len(odds)} of another temporality or time", not odds),
        Bar(f"{len(exemplars)} exemplars, {len(lost)} without a span", not lost and exemplars != []),
        Bar(f"unknown fields: {', '.join(unknown) or 'none'}", not unknown),
    ]


def fields_of(rig: Rig) -> set[str]:
    messages = [one for one in rig.collector.messages if one.DESCRIPTOR.name == "ExportMetricsServiceRequest"]
    return set().union(*map(fields, messages[-2:]))


async def exported(rig: Rig, since: int) -> list[Any]:
    """The metrics of a message that was made after a time."""
    async with asyncio.timeout(PATIENCE), rig.collector.came:
        await rig.collector.came.wait_for(
            lambda: any(point.time_unix_nano >= since for _, point in points(rig.collector.metrics[:1]))
        )
    return rig.collector.metrics
