package import WeirMetrics

/// The message that brings a collector all metrics of a registry: `ExportMetricsServiceRequest`, with cumulative sums.
///
/// **Names** are those of the page, with unit and `_total`, so that the same rules and dashboards read both. A receiver
/// that follows the rules for Prometheus' names, as Prometheus does by default, appends the unit and a counter's
/// `_total` only where a name does not have them. Names without them would depend on the receiver's settings:
/// Prometheus with `NoTranslation` or `UnderscoreEscapingWithoutSuffixes`, and VictoriaMetrics by default, take names
/// as they come. The unit that is told is the one in the name and no other, for the same reason.
///
/// **Types** are those of OpenMetrics: a counter without `_total` has none there (`unknown`), and is a gauge here, as
/// OpenTelemetry's rules say of that type. A monotonic sum would get `_total`. Histograms have the bounds of the page,
/// or, where that is asked for and the histogram is native, those of an exponential histogram.
package struct MetricsMessage: ExportRequest {
  static let lists: (resource: StaticString, scope: StaticString, items: StaticString) =
    ("resourceMetrics", "scopeMetrics", "metrics")

  let registry: Registry
  package let resource: Resource
  package let scope: Scope
  /// The beginning of sums whose series has no time of its own: those that a collector computes.
  let start: UInt64
  /// The time of all values.
  let time: UInt64
  let hasExponential: Bool

  /// - Parameters:
  ///   - start: When the process began to count, in nanoseconds since 1970.
  ///   - time: The present time, likewise.
  ///   - hasExponential: Whether native histograms are exponential ones in place of those with explicit bounds.
  package init(
    _ registry: Registry, of resource: Resource, by scope: Scope, from start: UInt64, at time: UInt64,
    hasExponential: Bool = false
  ) {
    (self.registry, self.resource, self.scope) = (registry, resource, scope)
    (self.start, self.time) = (start, time)
    self.hasExponential = hasExponential
  }

  /// The numbers as they are now. Collectors of the registry run on the calling thread.
  package func encoded(as encoding: MessageEncoding) -> [UInt8] { encode(as: encoding) }

  func writeItems(to list: inout some MessageWriter & ~Copyable) {
    registry.forEachMetric { metric, content in
      list.element(2) { write(metric, content, to: &$0) }
    }
  }
}

extension MetricsMessage {
  /// `AGGREGATION_TEMPORALITY_CUMULATIVE`: values since the start.
  private static let cumulative: UInt8 = 2

  /// The fields of `Metric` (`metrics.proto`).
  private func write(
    _ metric: MetricDescriptor, _ content: FamilyContent, to writer: inout some MessageWriter & ~Copyable
  ) {
    writer.string(1, "name", metric.name)
    if !metric.help.isEmpty { writer.string(2, "description", metric.help) }
    if let unit = metric.unit { writer.string(3, "unit", unit) }
    switch metric.kind {
    case .counter where metric.hasTotal:
      writer.message(7, "sum") { sum in
        sum.list("dataPoints") { writeNumbers(content, of: metric, to: &$0) }
        sum.choice(2, "aggregationTemporality", Self.cumulative)
        sum.boolean(3, "isMonotonic", true)
      }
    case .counter, .gauge, .info:
      writer.message(5, "gauge") { gauge in
        gauge.list("dataPoints") { writeNumbers(content, of: metric, to: &$0) }
      }
    case .histogram where hasExponential && metric.isNative:
      writer.message(10, "exponentialHistogram") { histogram in
        histogram.list("dataPoints") { writeExponential(content, of: metric, to: &$0) }
        histogram.choice(2, "aggregationTemporality", Self.cumulative)
      }
    case .histogram:
      writer.message(9, "histogram") { histogram in
        histogram.list("dataPoints") { writeHistograms(content, of: metric, to: &$0) }
        histogram.choice(2, "aggregationTemporality", Self.cumulative)
      }
    }
  }

  /// Writes a `NumberDataPoint` for each series, with a `Double` as Prometheus has it: a counter is now and then no
  /// whole number, and the type of a metric's values should not change.
  private func writeNumbers(
    _ content: FamilyContent, of metric: MetricDescriptor, to list: inout some MessageWriter & ~Copyable
  ) {
    // Only sums have a beginning.
    let isSum = metric.hasTotal
    switch content {
    case .series(let all):
      for series in all {
        let value = metric.kind == .counter ? Counter(series).value : Gauge(series).value
        list.element(1) { point in
          writeTimes(from: isSum ? series.created.nanoseconds : nil, to: &point)
          point.double(4, "asDouble", value)
          point.labels(7, "attributes", series.forEachLabel)
        }
      }
    case .samples(let samples):
      for sample in samples {
        list.element(1) { point in
          writeTimes(from: isSum ? start : nil, to: &point)
          point.double(4, "asDouble", sample.value)
          point.labels(7, "attributes", sample.forEachLabel)
        }
      }
    }
  }

  /// Writes a `HistogramDataPoint` for each series. Its bounds belong to the bucket below, as Prometheus' do.
  private func writeHistograms(
    _ content: FamilyContent, of metric: MetricDescriptor, to list: inout some MessageWriter & ~Copyable
  ) {
    // No collector computes histograms.
    guard case .series(let all) = content else { return }
    for series in all {
      let histogram = Histogram(series)
      let snapshot = histogram.snapshot
      list.element(1) { point in
        writeTimes(from: series.created.nanoseconds, to: &point)
        point.fixed64(4, "count", snapshot.count)
        if metric.hasSum { point.double(5, "sum", snapshot.sum) }
        point.fixed64s(6, "bucketCounts", snapshot.counts)
        point.doubles(7, "explicitBounds", snapshot.bounds)
        write(histogram.exemplars, as: 8, to: &point)
        point.labels(9, "attributes", series.forEachLabel)
      }
    }
  }

  /// Writes an `ExponentialHistogramDataPoint` for each series, with all buckets between the lowest and the highest.
  private func writeExponential(
    _ content: FamilyContent, of metric: MetricDescriptor, to list: inout some MessageWriter & ~Copyable
  ) {
    guard case .series(let all) = content else { return }
    for series in all {
      let histogram = Histogram(series)
      guard let native = histogram.native?.narrowed() else { continue }
      list.element(1) { point in
        writeTimes(from: series.created.nanoseconds, to: &point)
        point.fixed64(4, "count", native.count)
        if metric.hasSum { point.double(5, "sum", histogram.sum) }
        point.sint32(6, "scale", native.schema)
        point.fixed64(7, "zeroCount", native.zeroCount)
        write(native.positive, as: 8, "positive", to: &point)
        write(native.negative, as: 9, "negative", to: &point)
        write(histogram.exemplars, as: 11, to: &point)
        point.double(14, "zeroThreshold", NativeHistogram.zeroThreshold)
        point.labels(1, "attributes", series.forEachLabel)
      }
    }
  }

  /// Writes `Buckets`. The bucket whose lower bound is 1 has the index 0 here, and 1 in Prometheus.
  private func write(
    _ buckets: [NativeHistogram.Bucket], as number: Int, _ name: StaticString,
    to point: inout some MessageWriter & ~Copyable
  ) {
    guard let first = buckets.first?.index, let last = buckets.last?.index else { return }
    var counts = [UInt64](repeating: 0, count: last - first + 1)
    for bucket in buckets { counts[bucket.index - first] = bucket.count }
    point.message(number, name) { message in
      message.sint32(1, "offset", first - 1)
      message.uint64s(2, "bucketCounts", counts)
    }
  }

  /// The times of a point, which have the same numbers in each type. A clock that was set back may not make the start
  /// later than the value.
  private func writeTimes(from start: UInt64?, to point: inout some MessageWriter & ~Copyable) {
    if let start { point.fixed64(2, "startTimeUnixNano", min(start, time)) }
    point.fixed64(3, "timeUnixNano", time)
  }

  private func write(_ exemplars: [Exemplar?], as number: Int, to point: inout some MessageWriter & ~Copyable) {
    if exemplars.isEmpty { return }
    point.list("exemplars") { list in
      for exemplar in exemplars {
        guard let exemplar else { continue }
        list.element(number) { exemplar.write(to: &$0) }
      }
    }
  }
}

extension MetricDescriptor {
  /// The unit in the metric's name, as UCUM spells it.
  fileprivate var unit: String? {
    let units: KeyValuePairs = ["_seconds": "s", "_bytes": "By", "_ratio": "1"]
    return units.first { familyName.hasSuffix($0.key) }?.value
  }
}

extension Double {
  /// Seconds since 1970, which the registry has in milliseconds, in nanoseconds; 0 for a time that can't be.
  fileprivate var nanoseconds: UInt64 {
    guard self > 0, self < 1e10 else { return 0 }
    return UInt64((self * 1_000).rounded()) * 1_000_000
  }
}

extension Exemplar {
  fileprivate func write(to writer: inout some MessageWriter & ~Copyable) {
    writer.fixed64(2, "timeUnixNano", timestamp.nanoseconds)
    writer.double(3, "asDouble", value)
    if case .trace(let high, let low, let span) = reference {
      writer.identifier(5, "traceId", high, low)
      if let span { writer.identifier(4, "spanId", span) }
      return
    }
    forEachLabel { name, value in
      switch Identifier(name, value) {
      case .trace(let high, let low): writer.identifier(5, "traceId", high, low)
      case .span(let id): writer.identifier(4, "spanId", id)
      case nil: break
      }
    }
    writer.labels(7, "filteredAttributes") { body in
      forEachLabel { if Identifier($0, $1) == nil { body($0, $1) } }
    }
  }

  /// A label that is an identifier of a trace or a span, in hexadecimal.
  private enum Identifier {
    case trace(UInt64, UInt64)
    case span(UInt64)

    init?(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
      if name.elementsEqual("trace_id".utf8), value.count == 32,
        let high = Self.word(value.prefix(16)), let low = Self.word(value.suffix(16))
      {
        self = .trace(high, low)
      } else if name.elementsEqual("span_id".utf8), value.count == 16, let id = Self.word(value[...]) {
        self = .span(id)
      } else {
        return nil
      }
    }

    private static func word(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
      // A sign is none of the digits.
      let text = String(decoding: digits, as: UTF8.self)
      return text.allSatisfy(\.isHexDigit) ? UInt64(text, radix: 16) : nil
    }
  }
}

extension MessageWriter where Self: ~Copyable {
  /// A field that has a series' labels as attributes of text.
  fileprivate mutating func labels(
    _ number: Int, _ name: StaticString,
    _ forEachLabel: ((UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void) -> Void
  ) {
    list(name) { list in
      forEachLabel { label, value in
        list.element(number) { writer in
          writer.string(1, "key", utf8: label)
          writer.message(2, "value") { $0.string(1, "stringValue", utf8: value) }
        }
      }
    }
  }
}
