"""A collector that keeps the spans it gets by OTLP over HTTP, in protobuf."""

import asyncio
import gzip
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


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
    events: list[str]


class Collector:
    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.port = 0

    async def start(self) -> "Collector":
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return self

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().split("\r\n")
                fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
                body = await read_body(reader, fields)
                if fields.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                self.take(ExportTraceServiceRequest.FromString(body))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def take(self, message: ExportTraceServiceRequest) -> None:
        for of in message.resource_spans:
            service = next((item.value.string_value for item in of.resource.attributes if item.key == "service.name"), "")
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


def read(span: Any, service: str) -> Span:
    attributes = {item.key: getattr(item.value, item.value.WhichOneof("value") or "string_value") for item in span.attributes}
    return Span(
        service,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        span.kind,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        attributes,
        [event.name for event in span.events],
    )


def roots(spans: list[Span]) -> list[Span]:
    return [span for span in spans if not span.parent]


def orphans(spans: list[Span]) -> list[Span]:
    """Those whose parent is not there."""
    known = {(span.trace, span.id) for span in spans}
    return [span for span in spans if span.parent and (span.trace, span.parent) not in known]
