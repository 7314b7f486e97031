import Synchronization

/// One observation with a reference to its trace (OpenMetrics 1.0, "Exemplars").
struct Exemplar: Sendable, Equatable {
  /// The label set as the page shows it, without braces.
  let labels: [UInt8]
  let value: Double
  /// Seconds since 1970.
  let timestamp: Double

  /// The label set's text; nil if OpenMetrics does not allow it or some readers can't parse it.
  static func render(_ pairs: KeyValuePairs<String, String>) -> [UInt8]? {
    var characters = 0
    for (name, value) in pairs {
      guard MetricName.isValidLabel(name), value.utf8.count <= 512 else { return nil }
      if value.utf8.contains(where: isTrap) { return nil }
      characters += name.unicodeScalars.count + value.unicodeScalars.count
    }
    let names = pairs.map(\.key)
    guard characters <= 128, Set(names).count == names.count else { return nil }
    return LabelSchema(names: names).render(pairs.map(\.value)).text
  }

  /// Whether OpenMetrics allows the byte, but some readers refuse the whole page for it. The parser of Python's
  /// prometheus_client (0.2x) does so for an escaped quote or a brace. Prometheus (2.x) does so for a NUL, which its
  /// lexer takes for the end.
  private static func isTrap(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") || byte == 0
  }
}

/// A histogram's exemplars: the latest of each bucket.
///
/// A writer that finds the lock taken drops its exemplar: exemplars are only samples, and no scrape may delay a
/// request.
final class ExemplarStore: Sendable {
  private let slots: Mutex<[Exemplar?]>

  init(count: Int) {
    slots = Mutex(Array(repeating: nil, count: count))
  }

  func keep(_ exemplar: Exemplar, bucket: Int) {
    slots.withLockIfAvailable { slots in
      if slots.indices.contains(bucket) { slots[bucket] = exemplar }
    }
  }

  /// A new array, so that the writers' array is not copied at their next write.
  var all: [Exemplar?] {
    slots.withLock { slots in slots.map { $0 } }
  }
}
