/// Writes families as text 0.0.4 or OpenMetrics 1.0.
///
/// A line is the copies of pieces that were rendered before, and a number.
struct TextEncoder {
  private let isOpenMetrics: Bool
  private let created: Bool

  init(_ exposition: Exposition) {
    isOpenMetrics = exposition.format == .openMetrics
    created = isOpenMetrics && exposition.created
  }

  func encode(_ family: any MetricFamily, _ content: FamilyContent, to page: inout ExpositionPage) {
    guard !content.isEmpty else { return }
    let pieces = family.pieces
    let header = isOpenMetrics ? pieces.openMetricsHeader : pieces.textHeader
    var line = page.writer(room: header.count)
    line.put(header)
    page.take(line)
    switch content {
    case .counters(let counters):
      encode(counters, pieces, created: created && family.descriptor.hasTotal, to: &page)
    case .gauges(let gauges):
      for gauge in gauges { self.line(pieces.sample, gauge.labels, gauge.value, &page) }
    case .histograms(let histograms):
      for histogram in histograms { encode(histogram, pieces, to: &page) }
    case .samples(let samples):
      for sample in samples { self.line(pieces.sample, sample.labels, sample.value, &page) }
    }
  }

  func finish(_ page: inout ExpositionPage) {
    guard isOpenMetrics else { return }
    var line = page.writer(room: 8)
    line.put("# EOF\n".utf8)
    page.take(line)
  }
}

extension TextEncoder {
  private func encode(
    _ counters: [Counter], _ pieces: ExpositionPieces, created: Bool, to page: inout ExpositionPage
  ) {
    for counter in counters {
      let (whole, rest) = counter.parts
      if rest == 0 {
        line(pieces.sample, counter.labels, whole, &page)
      } else {
        line(pieces.sample, counter.labels, Double(whole) + rest, &page)
      }
      if created { line(pieces.created, counter.labels, counter.created, &page) }
    }
  }

  private func encode(_ histogram: Histogram, _ pieces: ExpositionPieces, to page: inout ExpositionPage) {
    let labels = histogram.labels
    let exemplars = isOpenMetrics ? histogram.exemplars : nil
    // Without other labels the comma before `le` is left out.
    let skip = labels.isEmpty ? 1 : 0
    var total: UInt64 = 0
    for (index, bound) in pieces.bounds.enumerated() {
      total &+= histogram.cells.load(index)
      let exemplar = exemplars?[index]
      let room = pieces.bucket.open.count + labels.bytes.count + bound.count + LineWriter.number + 1
      var line = page.writer(room: room + (exemplar?.room ?? 0))
      line.put(pieces.bucket.open)
      line.put(labels)
      bound.bytes.withUnsafeBytes { bytes in
        line.put(padded: bytes.baseAddress.unsafelyUnwrapped + skip, count: bound.count - skip)
      }
      line.put(total)
      if let exemplar { put(exemplar, &line) }
      line.put(UInt8(ascii: "\n"))
      page.take(line)
    }
    if !isOpenMetrics || pieces.hasSum {
      line(pieces.sum, labels, histogram.sum, &page)
      line(pieces.count, labels, total, &page)
    }
    if created { line(pieces.created, labels, histogram.created, &page) }
  }

  private func put(_ exemplar: Exemplar, _ line: inout LineWriter) {
    line.put(" # {".utf8)
    line.put(exemplar.labels)
    line.put("} ".utf8)
    line.put(exemplar.value)
    line.put(UInt8(ascii: " "))
    line.put(exemplar.timestamp)
  }

  @inline(__always)
  private func line(_ name: SampleName, _ labels: SeriesLabels, _ value: UInt64, _ page: inout ExpositionPage) {
    var line = begin(name, labels, &page)
    line.put(value)
    line.put(UInt8(ascii: "\n"))
    page.take(line)
  }

  @inline(__always)
  private func line(_ name: SampleName, _ labels: SeriesLabels, _ value: Double, _ page: inout ExpositionPage) {
    var line = begin(name, labels, &page)
    line.put(value)
    line.put(UInt8(ascii: "\n"))
    page.take(line)
  }

  @inline(__always)
  private func begin(_ name: SampleName, _ labels: SeriesLabels, _ page: inout ExpositionPage) -> LineWriter {
    var line = page.writer(room: name.open.count + labels.bytes.count + LineWriter.number + 1)
    if labels.isEmpty {
      line.put(name.bare)
    } else {
      line.put(name.open)
      line.put(labels)
      line.put(UInt8(ascii: "}"))
      line.put(UInt8(ascii: " "))
    }
    return line
  }
}

extension Exemplar {
  /// The most bytes that it takes on its line.
  var room: Int {
    labels.count + 2 * LineWriter.number + 16
  }
}

extension FamilyContent {
  var isEmpty: Bool {
    switch self {
    case .counters(let counters): counters.isEmpty
    case .gauges(let gauges): gauges.isEmpty
    case .histograms(let histograms): histograms.isEmpty
    case .samples(let samples): samples.isEmpty
    }
  }
}
