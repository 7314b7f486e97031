/// The parts of a family's lines and messages that never change, rendered once at registration.
struct ExpositionPieces: Sendable {
  /// `# HELP` and `# TYPE`, for each format.
  let textHeader: PaddedBytes
  let openMetricsHeader: PaddedBytes
  /// The name of the sample of a counter, gauge or info.
  let sample: SampleName
  let bucket: SampleName
  let sum: SampleName
  let count: SampleName
  let created: SampleName
  /// For each bucket, `,le="0.5"} `.
  let bounds: [PaddedBytes]
  /// Whether OpenMetrics allows `_sum` and `_count`.
  let hasSum: Bool
  let labels: LabelPairs

  init(_ descriptor: MetricDescriptor) {
    let (name, family) = (descriptor.name, descriptor.familyName)
    textHeader = PaddedBytes(Self.textHeader(descriptor))
    openMetricsHeader = PaddedBytes(Self.openMetricsHeader(descriptor))
    sample = SampleName(name)
    bucket = SampleName(name + "_bucket")
    sum = SampleName(name + "_sum")
    count = SampleName(name + "_count")
    created = SampleName(family + "_created")
    let isHistogram = descriptor.kind == .histogram
    bounds = (isHistogram ? descriptor.bounds + [.infinity] : []).map {
      PaddedBytes(",le=\"\(NumberText.canonical($0))\"} ")
    }
    hasSum = descriptor.hasSum
    labels = LabelPairs(descriptor.labels, isAny: descriptor.hasTextLabels)
  }

  private static func textHeader(_ descriptor: MetricDescriptor) -> [UInt8] {
    let type = descriptor.kind == .info ? MetricKind.gauge : descriptor.kind
    return help(descriptor.help, name: descriptor.name, quotes: false)
      + Array("# TYPE \(descriptor.name) \(type.rawValue)\n".utf8)
  }

  private static func openMetricsHeader(_ descriptor: MetricDescriptor) -> [UInt8] {
    let type = descriptor.kind == .counter && !descriptor.hasTotal ? "unknown" : descriptor.kind.rawValue
    return Array("# TYPE \(descriptor.familyName) \(type)\n".utf8)
      + help(descriptor.help, name: descriptor.familyName, quotes: true)
  }

  private static func help(_ text: String, name: String, quotes: Bool) -> [UInt8] {
    guard !text.isEmpty else { return [] }
    var bytes = Array("# HELP \(name) ".utf8)
    Escaping.append(text.utf8, to: &bytes, quotes: quotes)
    return bytes + [UInt8(ascii: "\n")]
  }
}

/// The beginning of a sample's line, with labels and without.
struct SampleName: Sendable {
  /// `name{`
  let open: PaddedBytes
  /// `name `
  let bare: PaddedBytes

  init(_ name: String) {
    open = PaddedBytes(name + "{")
    bare = PaddedBytes(name + " ")
  }
}
