#!/usr/bin/env python3
"""Reads a page in protobuf by client_model's definitions, and compares it with the same page as text.

    client_model.py PROTOBUF TEXT OPENMETRICS

The text is read by prometheus_client. Every family has to have the same type, help and samples in protobuf and in text,
and the exemplars and times of creation that it has in OpenMetrics. Of native histograms, which no text has, the counts
are compared with the classic ones. Prints each native histogram as a line of JSON, its buckets by index.
"""

import json
import math
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.internal import decoder
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client import parser as text

from otlp import check_known

# metrics.proto of client_model 0.6: number, name and type of each field; a star stands for `repeated`.
MESSAGES = {
    "LabelPair": "1 name string, 2 value string",
    "Gauge": "1 value double",
    "Counter": "1 value double, 2 exemplar Exemplar, 3 created_timestamp Timestamp",
    "Quantile": "1 quantile double, 2 value double",
    "Summary": "1 sample_count uint64, 2 sample_sum double, 3 quantile *Quantile, 4 created_timestamp Timestamp",
    "Untyped": "1 value double",
    "Histogram": "1 sample_count uint64, 4 sample_count_float double, 2 sample_sum double, 3 bucket *Bucket,"
    " 15 created_timestamp Timestamp, 5 schema sint32, 6 zero_threshold double, 7 zero_count uint64,"
    " 8 zero_count_float double, 9 negative_span *BucketSpan, 10 negative_delta *sint64, 11 negative_count *double,"
    " 12 positive_span *BucketSpan, 13 positive_delta *sint64, 14 positive_count *double, 16 exemplars *Exemplar",
    "Bucket": "1 cumulative_count uint64, 4 cumulative_count_float double, 2 upper_bound double, 3 exemplar Exemplar",
    "BucketSpan": "1 offset sint32, 2 length uint32",
    "Exemplar": "1 label *LabelPair, 2 value double, 3 timestamp Timestamp",
    "Metric": "1 label *LabelPair, 2 gauge Gauge, 3 counter Counter, 4 summary Summary, 5 untyped Untyped,"
    " 7 histogram Histogram, 6 timestamp_ms int64",
    "MetricFamily": "1 name string, 2 help string, 3 type MetricType, 4 metric *Metric, 5 unit string",
}
TYPES = ["counter", "gauge", "summary", "untyped", "histogram", "gaugehistogram"]


def metric_family():
    """The class of MetricFamily."""
    file = descriptor_pb2.FileDescriptorProto(
        name="metrics.proto", package="io.prometheus.client", dependency=["google/protobuf/timestamp.proto"]
    )
    file.enum_type.add(name="MetricType").value.extend(
        descriptor_pb2.EnumValueDescriptorProto(name=name.upper(), number=number) for number, name in enumerate(TYPES)
    )
    kinds = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.split(","):
            number, field_name, kind = field.split()
            label = kinds.LABEL_REPEATED if kind[0] == "*" else kinds.LABEL_OPTIONAL
            added = message.field.add(number=int(number), name=field_name, label=label)
            kind = kind.lstrip("*")
            if kind == "Timestamp":
                added.type, added.type_name = kinds.TYPE_MESSAGE, ".google.protobuf.Timestamp"
            elif kind[0].isupper():
                added.type = kinds.TYPE_ENUM if kind == "MetricType" else kinds.TYPE_MESSAGE
                added.type_name = f".io.prometheus.client.{kind}"
            else:
                added.type = kinds.Type.Value(f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("io.prometheus.client.MetricFamily"))


def families(page: bytes):
    message, position = metric_family(), 0
    while position < len(page):
        length, position = decoder._DecodeVarint(page, position)
        if position + length > len(page):
            sys.exit("the last family is cut off")
        family = message.FromString(page[position : position + length])
        check_known(family)
        yield family
        position += length


def labels(pairs, **more) -> tuple:
    names = [pair.name for pair in pairs]
    if len(set(names)) < len(names):
        sys.exit(f"a label comes twice: {names}")
    return tuple(sorted({**{pair.name: pair.value for pair in pairs}, **more}.items()))


def number(value) -> str:
    """Equal for equal numbers, NaN too, and for the bounds of both texts."""
    return repr(float(value))


def seconds(timestamp) -> float:
    return timestamp.seconds + timestamp.nanos / 1e9


class Page:
    """What both texts show, as dictionaries by the names and labels of samples."""

    def __init__(self):
        self.families, self.samples, self.exemplars, self.created = {}, {}, {}, {}

    def add(self, name, key, value):
        if (name, key) in self.samples:
            sys.exit(f"{name} has two samples with {key}")
        self.samples[name, key] = number(value)

    def read_protobuf(self, page: bytes):
        for family in families(page):
            self.families[family.name] = (TYPES[family.type], family.help)
            # Each metric has one value, that of its type.
            for metric in family.metric:
                if [field.name for field, _ in metric.ListFields() if field.name != "label"] != [TYPES[family.type]]:
                    sys.exit(f"{family.name} is a {TYPES[family.type]} and has {metric}")
                key = labels(metric.label)
                if family.type == 4:
                    self.read_histogram(family.name, metric)
                else:
                    value = metric.counter if family.type == 0 else metric.gauge
                    self.add(family.name, key, value.value)
                    if family.type == 0 and value.HasField("created_timestamp"):
                        name = family.name.removesuffix("_total")
                        self.created[name, key] = seconds(value.created_timestamp)
        return self

    def read_histogram(self, name, metric):
        key, histogram = labels(metric.label), metric.histogram
        for bucket in histogram.bucket:
            bucket_key = labels(metric.label, le=number(bucket.upper_bound))
            self.add(f"{name}_bucket", bucket_key, bucket.cumulative_count)
            if bucket.HasField("exemplar"):
                exemplar = bucket.exemplar
                self.exemplars[name, bucket_key] = (
                    labels(exemplar.label), number(exemplar.value), seconds(exemplar.timestamp)
                )
        self.add(f"{name}_count", key, histogram.sample_count)
        self.add(f"{name}_sum", key, histogram.sample_sum)
        self.created[name, key] = seconds(histogram.created_timestamp)
        if histogram.HasField("schema"):
            show_native(name, key, histogram)

    def read_text(self, page: str):
        names = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE ")}
        for family in text.text_string_to_metric_families(page):
            # The parser gives all samples of counters the suffix `_total`, and takes it off the family's name.
            total = family.type == "counter" and f"{family.name}_total"
            name = total if total in names else family.name
            self.families[name] = (family.type, family.documentation)
            for sample in family.samples:
                self.add(name if sample.name == total else sample.name, self.key(sample), sample.value)
        return self

    def read_openmetrics(self, page: str):
        for family in openmetrics.text_string_to_metric_families(page):
            for sample in family.samples:
                key = self.key(sample)
                if sample.name == f"{family.name}_created":
                    self.created[family.name, key] = sample.value
                if sample.exemplar:
                    exemplar = sample.exemplar
                    self.exemplars[family.name, key] = (
                        tuple(sorted(exemplar.labels.items())), number(exemplar.value), float(exemplar.timestamp)
                    )
        return self

    @staticmethod
    def key(sample) -> tuple:
        found = dict(sample.labels)
        if "le" in found:
            found["le"] = number(found["le"])
        return tuple(sorted(found.items()))


def buckets(spans, deltas) -> dict:
    index, count, result, left = 0, 0, {}, list(deltas)
    for span in spans:
        index += span.offset
        for _ in range(span.length):
            count += left.pop(0)
            result[index] = count
            index += 1
    if left:
        sys.exit(f"{left} are in no span")
    return result


def show_native(name, key, histogram):
    positive = buckets(histogram.positive_span, histogram.positive_delta)
    negative = buckets(histogram.negative_span, histogram.negative_delta)
    total = sum(positive.values()) + sum(negative.values()) + histogram.zero_count
    if total != histogram.sample_count or total != histogram.bucket[-1].cumulative_count:
        sys.exit(f"{name}{key} has {total} observations in native buckets, and {histogram.sample_count} in all")
    shown = [histogram.schema, histogram.zero_threshold, histogram.zero_count, negative, positive]
    print(json.dumps([name, dict(key)] + shown))


def compare(what: str, left: dict, right: dict):
    for name in sorted(set(left) | set(right)):
        if left.get(name) != right.get(name):
            sys.exit(f"{what} of {name}: {left.get(name)} in protobuf, {right.get(name)} in text")


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        protobuf = Page().read_protobuf(file.read())
    with open(sys.argv[2], encoding="utf-8") as file:
        shown = Page().read_text(file.read())
    with open(sys.argv[3], encoding="utf-8") as file:
        shown.read_openmetrics(file.read())
    compare("type and help", protobuf.families, shown.families)
    compare("the value", protobuf.samples, shown.samples)
    compare("the exemplar", protobuf.exemplars, shown.exemplars)
    compare("the creation", protobuf.created, shown.created)
    if math.inf not in {float(dict(key).get("le", 0)) for _, key in protobuf.samples}:
        sys.exit("no histogram was compared")


if __name__ == "__main__":
    main()
