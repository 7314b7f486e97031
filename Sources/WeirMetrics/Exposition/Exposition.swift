/// The format and contents of a page of metrics.
public struct Exposition: Sendable {
  /// The formats that Prometheus reads.
  public enum Format: Sendable {
    /// Text 0.0.4.
    case text
    /// OpenMetrics 1.0.0, with exemplars and a final `# EOF`.
    case openMetrics
    /// Protocol Buffers: messages `io.prometheus.client.MetricFamily`, each after its length, with exemplars and with
    /// native buckets (``NativeHistograms``).
    case protobuf

    /// The value of `Content-Type`.
    public var contentType: String {
      switch self {
      case .text: "text/plain; version=0.0.4; charset=utf-8"
      case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
      case .protobuf: "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
      }
    }
  }

  /// Text 0.0.4 unless the scraper asks for another.
  public var format: Format
  /// Names of the metrics to show, or of their samples (`x_count`); nil shows all.
  public var only: Set<String>?
  /// Whether OpenMetrics shows when each counter and histogram began (`_created`). That doubles the series of counters
  /// in a Prometheus that does not use them. Off by default. Protobuf always shows it, since there it is no series.
  public var created: Bool

  /// By default all metrics as text, without `_created`.
  public init(_ format: Format = .text, only: Set<String>? = nil, created: Bool = false) {
    self.format = format
    self.only = only
    self.created = created
  }
}

extension Registry {
  /// Adds all metrics to a page.
  ///
  /// Families are sorted by name, series by their labels. No writer waits for this; numbers that change meanwhile are
  /// on the page in their old or their new state. Reuse the page: its memory is kept.
  public func write(_ exposition: Exposition = Exposition(), to page: inout ExpositionPage) {
    if exposition.format == .protobuf {
      page.withProtobuf { writer in
        forEachFamily(exposition) { ProtobufEncoder().encode($0, $1, to: &writer) }
      }
    } else {
      let encoder = TextEncoder(exposition)
      forEachFamily(exposition) { encoder.encode($0, $1, to: &page) }
      encoder.finish(&page)
    }
  }

  /// All metrics as text, for tests and logs: as text 0.0.4 in place of protobuf, which is none. An endpoint should
  /// reuse an ``ExpositionPage`` instead.
  public func text(_ exposition: Exposition = Exposition()) -> String {
    var exposition = exposition
    if exposition.format == .protobuf { exposition.format = .text }
    var page = ExpositionPage()
    write(exposition, to: &page)
    return page.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Passes each metric that has series to `body`, in the order of a page: for formats that are no pages.
  package func forEachMetric(_ body: (MetricDescriptor, FamilyContent) -> Void) {
    forEachFamily(Exposition()) { family, content in
      if !content.isEmpty { body(family.descriptor, content) }
    }
  }

  private func forEachFamily(_ exposition: Exposition, _ body: (any MetricFamily, FamilyContent) -> Void) {
    prepareForPage()
    let (families, collectors) = all()
    let wanted = families.filter { exposition.shows($0.descriptor) }
    let collected = collect(collectors, families, exposition)
    for family in wanted { body(family, family.content(collected)) }
  }

  private func collect(
    _ collectors: [CollectorEntry], _ families: [any MetricFamily], _ exposition: Exposition
  ) -> CollectedSamples {
    var samples = CollectedSamples()
    for entry in collectors where entry.families.contains(where: { exposition.shows($0.descriptor) }) {
      samples.begin(entry.families)
      switch entry.source {
      case .collector(let collector): collector.collect(into: &samples)
      case .registry: OwnMetrics.collect(families, refusals, into: &samples)
      }
    }
    return samples
  }
}

extension Exposition {
  func shows(_ metric: MetricDescriptor) -> Bool {
    guard let only else { return true }
    return metric.claimedNames.contains { only.contains($0) }
  }
}

/// The bytes of a page. Keep one per endpoint and reuse it: after the first scrapes, writing a page allocates nothing.
///
/// It must not be used by two threads at once; keep it in a `Mutex` or on one thread.
public struct ExpositionPage: ~Copyable {
  var memory: UnsafeMutableRawPointer
  var capacity: Int
  /// The number of bytes written.
  public internal(set) var count = 0

  /// An empty page.
  public init() {
    capacity = 16 * 1024
    memory = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit {
    memory.deallocate()
  }

  /// Empties the page. Its memory is kept for the next one.
  public mutating func removeAll() {
    count = 0
  }

  /// Passes the page's bytes to `body`; they are valid during the call.
  public borrowing func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: memory, count: count))
  }

  /// A writer at the end of the page, with room for at least `room` bytes and for the excess of block copies.
  @inline(__always)
  mutating func writer(room: Int) -> LineWriter {
    if capacity - count < room + LineWriter.slack { grow(room + LineWriter.slack) }
    return LineWriter(cursor: memory + count)
  }

  /// Adds the bytes that a writer has written.
  @inline(__always)
  mutating func take(_ writer: LineWriter) {
    count = writer.cursor - memory
  }

  @inline(never)
  private mutating func grow(_ room: Int) {
    let larger = max(capacity * 2, count + room)
    let copy = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
    copy.copyMemory(from: memory, byteCount: count)
    memory.deallocate()
    memory = copy
    capacity = larger
  }
}
