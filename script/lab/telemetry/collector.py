"""A collector that keeps what it gets by OTLP over HTTP, in protobuf, and says what in it is unknown."""

import asyncio
import gzip
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TAKEN = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Event:
    name: str
    time: int
    attributes: dict[str, Any]


@dataclass
class Span:
    service: str
    trace: str
    id: str
    parent: str
    name: str
    kind: int
    start: int
    """Nanoseconds since 1970."""
    end: int
    attributes: dict[str, Any]
    events: list[Event]
    links: list[tuple[str, str, int]]
    """The trace, the span and the flags of each."""
    failed: bool
    flags: int
    state: str


class Collector:
    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.spans: list[Span] = []
        self.metrics: list[Any] = []
        """Those of the last message."""
        self.port = 0
        self.open: set[asyncio.StreamWriter] = set()
        self.came = asyncio.Condition()
        """It is told of each message."""

    async def start(self) -> "Collector":
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    def stop(self) -> None:
        self.server.close()
        for writer in self.open:
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        try:
            while not writer.is_closing() and (head := await reader.readuntil(b"\r\n\r\n")):
                lines = head.decode().lower().split("\r\n")
                fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
                body = await read_body(reader, fields)
                if fields.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                await self.answer(lines[0].split()[1], body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the exporter has closed the connection
        finally:
            self.open.discard(writer)
            writer.close()

    async def answer(self, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.take(path, body)
        writer.write(TAKEN)
        async with self.came:
            self.came.notify_all()

    def take(self, path: str, body: bytes) -> None:
        if path == "/v1/metrics":
            metrics = ExportMetricsServiceRequest.FromString(body)
            self.messages.append(metrics)
            self.metrics = [one for of in metrics.resource_metrics for scope in of.scope_metrics for one in scope.metrics]
            return
        traces = ExportTraceServiceRequest.FromString(body)
        self.messages.append(traces)
        for of in traces.resource_spans:
            service = str(values(of.resource.attributes).get("service.name", ""))
            for scope in of.scope_spans:
                self.spans += [read(span, service) for span in scope.spans]


async def read_body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    """Envoy sends chunks."""
    if fields.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(fields.get("content-length", "0")))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


def values(attributes: Any) -> dict[str, Any]:
    """A key that is there twice has a sign at its end."""
    found: dict[str, Any] = {}
    for item in attributes:
        key = f"{item.key} (twice)" if item.key in found else item.key
        found[key] = getattr(item.value, item.value.WhichOneof("value") or "string_value")
    return found


def read(span: Any, service: str) -> Span:
    return Span(
        service,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        span.kind,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        values(span.attributes),
        [Event(event.name, event.time_unix_nano, values(event.attributes)) for event in span.events],
        [(link.trace_id.hex(), link.span_id.hex(), link.flags) for link in span.links],
        span.status.code == 2,
        span.flags,
        span.trace_state,
    )


def fields(message: Message) -> set[str]:
    """The fields that a message has, with the name of their message; those without a name have a number.

    >>> sorted(fields(ExportTraceServiceRequest.FromString(b"\\n\\0\\x98\\x06\\1")))
    ['ExportTraceServiceRequest.99', 'ExportTraceServiceRequest.resource_spans']
    """
    name = message.DESCRIPTOR.name
    found = {f"{name}.{field.field_number}" for field in UnknownFieldSet(message)}
    for field, value in message.ListFields():
        found.add(f"{name}.{field.name}")
        if field.message_type:
            for one in [value] if isinstance(value, Message) else value:
                found |= fields(one)
    return found


def roots(spans: list[Span]) -> list[Span]:
    return [span for span in spans if not span.parent]


def orphans(spans: list[Span]) -> list[Span]:
    """Those whose parent is not there."""
    known = {(span.trace, span.id) for span in spans}
    return [span for span in spans if span.parent and (span.trace, span.parent) not in known]
