/// Writes families as messages `io.prometheus.client.MetricFamily`, each after its length.
///
/// The messages are those of metrics.proto in client_model 0.6. Names, label sets and numbers are those of the text
/// format: a counter keeps its `_total`, and an info metric is a gauge. A counter and a histogram also say when they
/// began, where OpenMetrics has `_created`: here that is no further series.
struct ProtobufEncoder {
  /// The numbers of fields, by message. Pairs of labels have the number 1 in each.
  private enum Field {
    enum Family { static let name = 1, help = 2, type = 3, metric = 4 }
    enum Metric { static let gauge = 2, counter = 3, histogram = 7 }
    enum Number { static let value = 1, created = 3 }
    enum Histogram { static let count = 1, sum = 2, bucket = 3, created = 15 }
    enum Native {
      static let schema = 5, zeroThreshold = 6, zeroCount = 7
      static let negativeSpan = 9, negativeDelta = 10, positiveSpan = 12, positiveDelta = 13
    }
    enum Span { static let offset = 1, length = 2 }
    enum Bucket { static let cumulativeCount = 1, upperBound = 2, exemplar = 3 }
    enum Exemplar { static let value = 2, timestamp = 3 }
    enum Timestamp { static let seconds = 1, nanoseconds = 2 }
  }

  /// About the octets of a metric beside its labels and buckets, and those of a bucket.
  private static let metricLength = 32, bucketLength = 14

  func encode(_ family: any MetricFamily, _ content: FamilyContent, to writer: inout ProtobufWriter) {
    guard !content.isEmpty else { return }
    let (metric, labels) = (family.descriptor, family.pieces.labels)
    writer.delimited(nil, about: Self.length(of: content, metric, labels)) { writer in
      writer.string(Field.Family.name, metric.name)
      if !metric.help.isEmpty { writer.string(Field.Family.help, metric.help) }
      writer.varint(Field.Family.type, metric.kind.protobufType)
      switch content {
      case .series(let all):
        switch metric.kind {
        case .counter:
          let (field, hasTotal) = (Field.Metric.counter, metric.hasTotal)
          for series in all {
            encode(Counter(series).value, as: field, series, labels, created: hasTotal, to: &writer)
          }
        case .gauge, .info:
          for series in all {
            encode(Gauge(series).value, as: Field.Metric.gauge, series, labels, created: false, to: &writer)
          }
        case .histogram: for series in all { encode(Histogram(series), metric.bounds, labels, to: &writer) }
        }
      case .samples(let samples):
        let field = metric.kind == .counter ? Field.Metric.counter : Field.Metric.gauge
        for sample in samples {
          // A sample's text has no padding of its own.
          PaddedBytes(sample.labels.text).withBytes { text in
            encode(sample.value, as: field, text, sample.labels.isEscaped, labels, created: nil, to: &writer)
          }
        }
      }
    }
  }

  /// About the length of a family, as if all its label sets were like the first.
  private static func length(of content: FamilyContent, _ metric: MetricDescriptor, _ labels: LabelPairs) -> Int {
    switch content {
    case .series(let all):
      let buckets = metric.kind == .histogram ? bucketLength * (metric.bounds.count + 1) : 0
      return all.count * (labels.length(of: all[0].text) + buckets + metricLength)
    case .samples(let all):
      return all.count * (all[0].labels.text.withUnsafeBytes { labels.length(of: $0) } + metricLength)
    }
  }

  @inline(__always)
  private func encode(
    _ value: Double, as field: Int, _ series: Series, _ labels: LabelPairs, created: Bool,
    to writer: inout ProtobufWriter
  ) {
    let created = created ? series.created : nil
    encode(value, as: field, series.text, series.slab.isEscaped, labels, created: created, to: &writer)
  }

  @inline(__always)
  private func encode(
    _ value: Double, as field: Int, _ text: UnsafeRawBufferPointer, _ isEscaped: Bool, _ labels: LabelPairs,
    created: Double?, to writer: inout ProtobufWriter
  ) {
    // The number takes 11 octets, and the time of creation 13.
    let length = labels.length(of: text) + (created == nil ? 11 : 24)
    writer.delimited(Field.Family.metric, about: length) { writer in
      labels.write(text, isEscaped: isEscaped, to: &writer)
      let number = writer.open(field)
      writer.double(Field.Number.value, value)
      if let created { encode(time: created, as: Field.Number.created, to: &writer) }
      writer.close(number)
    }
  }

  private func encode(
    _ histogram: Histogram, _ bounds: [Double], _ labels: LabelPairs, to writer: inout ProtobufWriter
  ) {
    let (series, exemplars) = (histogram.series, histogram.exemplars)
    let length = Self.bucketLength * (bounds.count + 1) + Self.metricLength
    writer.delimited(Field.Family.metric, about: labels.length(of: series.text) + length) { writer in
      labels.write(series.text, isEscaped: series.slab.isEscaped, to: &writer)
      writer.delimited(Field.Metric.histogram, about: length) { writer in
        // Readers compare the count with the native buckets. The classic ones leave out observations that came later.
        let native = histogram.native
        let most = native?.count ?? .max
        var total: UInt64 = 0
        for index in 0...bounds.count {
          total = min(total &+ series.slab.load(index), most)
          let bucket = writer.open(Field.Histogram.bucket)
          writer.varint(Field.Bucket.cumulativeCount, total)
          writer.double(Field.Bucket.upperBound, index < bounds.count ? bounds[index] : .infinity)
          if !exemplars.isEmpty, let exemplar = exemplars[index] { encode(exemplar, to: &writer) }
          writer.close(bucket)
        }
        writer.varint(Field.Histogram.count, total)
        writer.double(Field.Histogram.sum, histogram.sum)
        encode(time: series.created, as: Field.Histogram.created, to: &writer)
        if let native { encode(native, to: &writer) }
      }
    }
  }

  /// Writes the fields by which a histogram is a native one. Prometheus takes the threshold as the sign of that.
  private func encode(_ native: NativeHistogram, to writer: inout ProtobufWriter) {
    writer.zigzag(Field.Native.schema, Int64(native.schema))
    writer.double(Field.Native.zeroThreshold, NativeHistogram.zeroThreshold)
    writer.varint(Field.Native.zeroCount, native.zeroCount)
    encode(native.negative, Field.Native.negativeSpan, Field.Native.negativeDelta, to: &writer)
    encode(native.positive, Field.Native.positiveSpan, Field.Native.positiveDelta, to: &writer)
  }

  /// Buckets as spans of neighbours, each with the gap before it, and the difference of each count to the one before.
  private func encode(
    _ buckets: [NativeHistogram.Bucket], _ span: Int, _ delta: Int, to writer: inout ProtobufWriter
  ) {
    var (start, end) = (0, 0)
    while start < buckets.count {
      let first = buckets[start].index
      let length = buckets[start...].enumerated().prefix { $1.index == first + $0 }.count
      writer.delimited(span) { writer in
        writer.zigzag(Field.Span.offset, Int64(first - end))
        writer.varint(Field.Span.length, UInt64(length))
      }
      (start, end) = (start + length, first + length)
    }
    var before: UInt64 = 0
    for bucket in buckets {
      writer.zigzag(delta, Int64(bitPattern: bucket.count &- before))
      before = bucket.count
    }
  }

  private func encode(_ exemplar: Exemplar, to writer: inout ProtobufWriter) {
    let message = writer.open(Field.Bucket.exemplar)
    exemplar.labels.withUnsafeBytes { LabelPairs.writeAny($0, to: &writer) }
    writer.double(Field.Exemplar.value, exemplar.value)
    encode(time: exemplar.timestamp, as: Field.Exemplar.timestamp, to: &writer)
    writer.close(message)
  }

  /// - Parameter time: Seconds since 1970, which the registry has in milliseconds.
  @inline(__always)
  private func encode(time: Double, as field: Int, to writer: inout ProtobufWriter) {
    let (seconds, thousandths) = Int64((time * 1_000).rounded()).quotientAndRemainder(dividingBy: 1_000)
    let message = writer.open(field)
    writer.varint(Field.Timestamp.seconds, seconds)
    writer.varint(Field.Timestamp.nanoseconds, thousandths * 1_000_000)
    writer.close(message)
  }
}

extension MetricKind {
  /// The kind as `MetricType` numbers it.
  fileprivate var protobufType: UInt64 {
    switch self {
    case .counter: 0
    case .gauge, .info: 1
    case .histogram: 4
    }
  }
}
