"""The row about a trace through several gateways: weir, Envoy, weir and an origin, with one collector for all."""

import asyncio
import json

from lab.client import Connection
from lab.endure.rows import Bar
from lab.gateway import Gateway
from lab.overload.gateways import ENVOY, found
from lab.processes import Failure, Place, free_address, free_port
from lab.servers import nginx
from lab.telemetry.collector import Collector, orphans, roots

REQUESTS = 20
PATIENCE = 20
"""Seconds until all spans have to be there; Envoy sends every five."""
EACH = 6
"""Spans of a request: of each gateway one for the request and one for the attempt."""


def weirs(name: str, port: int, upstream: str) -> str:
    telemetry = f'{{ endpoint: "http://127.0.0.1:{port}", serviceName: {name}, traces: {{ delay: 200ms }}, metrics: off }}'
    return f"telemetry: {telemetry}\ntrace: {{ sample: 1 }}\nroutes:\n  - {{ name: {name}, upstream: 'http://{upstream}' }}\n"


def envoys(address: str, upstream: str, port: int) -> dict[str, object]:
    def cluster(name: str, place: str) -> dict[str, object]:
        host, number = place.split(":")
        endpoint = {"address": {"socket_address": {"address": host, "port_value": int(number)}}}
        return {
            "name": name,
            "connect_timeout": "1s",
            "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": endpoint}]}]},
        }

    types = "type.googleapis.com/envoy"
    uri = {"uri": f"http://127.0.0.1:{port}/v1/traces", "cluster": "collector", "timeout": "2s"}
    tracer = {
        "@type": f"{types}.config.trace.v3.OpenTelemetryConfig",
        "service_name": "envoy",
        "http_service": {"http_uri": uri},
    }
    manager = {
        "@type": f"{types}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "in",
        "tracing": {"spawn_upstream_span": True, "provider": {"name": "otel", "typed_config": tracer}},
        "route_config": {
            "virtual_hosts": [
                {"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "next"}}]}
            ]
        },
        "http_filters": [
            {"name": "router", "typed_config": {"@type": f"{types}.extensions.filters.http.router.v3.Router"}}
        ],
    }
    host, number = address.split(":")
    listener = {
        "address": {"socket_address": {"address": host, "port_value": int(number)}},
        "filter_chains": [{"filters": [{"name": "manager", "typed_config": manager}]}],
    }
    clusters = [cluster("next", upstream), cluster("collector", f"127.0.0.1:{port}")]
    return {"static_resources": {"listeners": [listener], "clusters": clusters}}


async def chain(place: Place) -> list[Bar]:
    if not found(ENVOY):
        place.notes.append("LEFT OUT: there is no Envoy")
        return []
    collector = await Collector().start()
    origin = free_port()
    await nginx(place, [origin])
    last = await Gateway.start(place, weirs("last", collector.port, f"127.0.0.1:{origin}"), name="last", workers=1)
    address = free_address()
    file = place.file("envoy.json", json.dumps(envoys(address, last.address, collector.port)))
    arguments = ("--concurrency", 1, "--disable-hot-restart", "--log-level", "warn")
    envoy = await place.start("envoy", found(ENVOY), "-c", file, *arguments)
    await envoy.accepts(address)
    first = await Gateway.start(place, weirs("first", collector.port, address), name="first", workers=1)
    connection = Connection(first.address)
    failed = [await connection.ask() for _ in range(REQUESTS)]
    if any(answer.status != 200 for answer in failed):
        raise Failure(f"an answer was {failed}")
    for _ in range(PATIENCE * 10):
        if len(collector.spans) >= REQUESTS * EACH:
            break
        await asyncio.sleep(0.1)
    spans = collector.spans
    services = {service: sum(span.service == service for span in spans) for service in ("first", "envoy", "last")}
    traces = {span.trace for span in spans}
    alone, lost = roots(spans), orphans(spans)
    return [
        Bar(f"{len(traces)} traces", len(traces) == REQUESTS),
        Bar(f"{len(alone)} roots, of weir", len(alone) == REQUESTS and all(span.service == "first" for span in alone)),
        Bar(f"{len(lost)} parents missing", not lost),
        Bar(f"spans: {services}", all(count == 2 * REQUESTS for count in services.values())),
    ]
