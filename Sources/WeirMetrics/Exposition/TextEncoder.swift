import Synchronization

/// Writes families as text 0.0.4 or OpenMetrics 1.0.
///
/// A line consists of copies of pieces that were rendered before, and a number.
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
    case .series(let series): encode(series, family.descriptor, pieces, to: &page)
    case .samples(let samples):
      for sample in samples {
        // A sample's text has no padding of its own.
        PaddedBytes(sample.labels.text).withBytes { self.line(pieces.sample, $0, &page) { $0.put(sample.value) } }
      }
    }
  }

  func finish(_ page: inout ExpositionPage) {
    guard isOpenMetrics else { return }
    var line = page.writer(room: 8)
    line.put("# EOF\n".utf8)
    page.take(line)
  }

  private func encode(
    _ series: [Series], _ descriptor: MetricDescriptor, _ pieces: ExpositionPieces, to page: inout ExpositionPage
  ) {
    switch descriptor.kind {
    case .counter:
      for series in series { encode(Counter(series), pieces, created: created && descriptor.hasTotal, to: &page) }
    case .gauge, .info:
      for series in series { line(pieces.sample, series.text, &page) { $0.put(Gauge(series).value) } }
    case .histogram:
      for series in series { encode(Histogram(series), pieces, to: &page) }
    }
  }

  @inline(__always)
  private func encode(
    _ counter: Counter, _ pieces: ExpositionPieces, created: Bool, to page: inout ExpositionPage
  ) {
    let (whole, rest, labels) = (counter.whole, counter.rest, counter.series.text)
    if rest == 0 {
      line(pieces.sample, labels, &page) { $0.put(whole) }
    } else {
      line(pieces.sample, labels, &page) { $0.put(Double(whole) + rest) }
    }
    if created { line(pieces.created, labels, &page) { $0.put(counter.series.created) } }
  }

  private func encode(_ histogram: Histogram, _ pieces: ExpositionPieces, to page: inout ExpositionPage) {
    let labels = histogram.series.text
    let exemplars = isOpenMetrics ? histogram.exemplars : []
    // Without other labels, the comma before `le` is left out.
    let skip = labels.isEmpty ? 1 : 0
    var total: UInt64 = 0
    for index in pieces.bounds.indices {
      total &+= histogram.series.slab.load(index)
      let exemplar = exemplars.isEmpty ? nil : exemplars[index]
      let room = pieces.bucket.open.count + labels.count + pieces.bounds[index].count + LineWriter.number + 1
      let reference = exemplar?.labels ?? []
      var line = page.writer(room: room + reference.count + 2 * LineWriter.number + 16)
      line.put(pieces.bucket.open)
      line.put(padded: labels)
      pieces.bounds[index].withBytes { line.put(padded: UnsafeRawBufferPointer(rebasing: $0[skip...])) }
      line.put(total)
      if let exemplar { put(exemplar, reference, &line) }
      line.put(UInt8(ascii: "\n"))
      page.take(line)
    }
    if !isOpenMetrics || pieces.hasSum {
      line(pieces.sum, labels, &page) { $0.put(histogram.sum) }
      line(pieces.count, labels, &page) { $0.put(total) }
    }
    if created { line(pieces.created, labels, &page) { $0.put(histogram.series.created) } }
  }

  private func put(_ exemplar: Exemplar, _ labels: [UInt8], _ line: inout LineWriter) {
    line.put(" # {".utf8)
    line.put(labels)
    line.put("} ".utf8)
    line.put(exemplar.value)
    line.put(UInt8(ascii: " "))
    line.put(exemplar.timestamp)
  }

  /// Writes one sample's line; `put` writes its value. `labels` must have padding.
  @inline(__always)
  private func line(
    _ name: SampleName, _ labels: UnsafeRawBufferPointer, _ page: inout ExpositionPage,
    _ put: (inout LineWriter) -> Void
  ) {
    var line = page.writer(room: name.open.count + labels.count + LineWriter.number + 3)
    if labels.isEmpty {
      line.put(name.bare)
    } else {
      line.put(name.open)
      line.put(padded: labels)
      line.put(UInt8(ascii: "}"))
      line.put(UInt8(ascii: " "))
    }
    put(&line)
    line.put(UInt8(ascii: "\n"))
    page.take(line)
  }
}

extension FamilyContent {
  var isEmpty: Bool {
    switch self {
    case .series(let series): series.isEmpty
    case .samples(let samples): samples.isEmpty
    }
  }
}
