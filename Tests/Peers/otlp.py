#!/usr/bin/env python3
"""Reads messages to a collector by OpenTelemetry's own definitions (opentelemetry-proto).

    otlp.py traces|metrics PROTOBUF JSON

The files have the same message in both encodings. For each, a line is printed with the message as OTLP's JSON, its
members sorted and defaults left out: it is an object with identifiers in hexadecimal. A field that a definition does
not have, or a value of another type, is an error.
"""

import base64
import json
import sys

from google.protobuf import json_format, unknown_fields
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS = {"traces": ExportTraceServiceRequest, "metrics": ExportMetricsServiceRequest}
IDENTIFIERS = {"traceId", "spanId", "parentSpanId"}


def with_identifiers(value, convert):
    """Proto3's JSON has bytes in base 64, OTLP's has identifiers in hexadecimal."""
    if isinstance(value, list):
        return [with_identifiers(element, convert) for element in value]
    if not isinstance(value, dict):
        return value
    return {
        name: convert(member) if name in IDENTIFIERS else with_identifiers(member, convert)
        for name, member in value.items()
    }


def check_known(message) -> None:
    """protobuf keeps fields that it doesn't know."""
    unknown = unknown_fields.UnknownFieldSet(message)
    if len(unknown) > 0:
        sys.exit(f"{message.DESCRIPTOR.full_name} has no field {unknown[0].field_number}")
    for field, value in message.ListFields():
        if field.message_type is not None:
            for element in [value] if hasattr(value, "DESCRIPTOR") else value:
                check_known(element)


def show(message) -> None:
    members = json_format.MessageToDict(message, use_integers_for_enums=True)
    print(json.dumps(with_identifiers(members, lambda text: base64.b64decode(text).hex()), sort_keys=True))


def main() -> None:
    request = REQUESTS[sys.argv[1]]
    with open(sys.argv[2], "rb") as file:
        message = request.FromString(file.read())
    check_known(message)
    show(message)
    with open(sys.argv[3], encoding="utf-8") as file:
        members = with_identifiers(json.load(file), lambda text: base64.b64encode(bytes.fromhex(text)).decode())
    show(json_format.ParseDict(members, request()))


if __name__ == "__main__":
    main()
