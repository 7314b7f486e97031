import Synchronization
package import WeirIO

/// The receiver of a response that drains without a slot: how much it takes, and how it is ended.
package final class SlowReader: Sendable {
  /// Ends the reader's exchange: by posting a job to its loop, never at once.
  let end: @Sendable () -> Void
  private let bytes: Atomic<Int>

  /// - Parameters:
  ///   - recent: The bytes that it took in the last seconds (``RecentBytes``).
  ///   - end: Called on any thread, at most once.
  package init(recent: Int, end: @escaping @Sendable () -> Void) {
    bytes = Atomic(recent)
    self.end = end
  }

  /// The bytes that it took in the last seconds.
  package var recent: Int {
    get { bytes.load(ordering: .relaxed) }
    set { bytes.store(newValue, ordering: .relaxed) }
  }
}

/// The slow readers of one destination. A value; the shell keeps it under a lock.
struct SlowReaders: Sendable {
  private var places: [ObjectIdentifier: (reader: SlowReader, number: UInt64)] = [:]
  private var lastNumber: UInt64 = 0

  var count: Int { places.count }

  mutating func add(_ reader: SlowReader) {
    lastNumber += 1
    places[ObjectIdentifier(reader)] = (reader, lastNumber)
  }

  mutating func remove(_ reader: SlowReader) { places[ObjectIdentifier(reader)] = nil }

  /// Takes out the reader that took least in the last seconds; among equal ones, the one that came first.
  mutating func removeSlowest() -> SlowReader? {
    let slowest = places.min { ($0.value.reader.recent, $0.value.number) < ($1.value.reader.recent, $1.value.number) }
    return slowest.flatMap { places.removeValue(forKey: $0.key)?.reader }
  }
}

/// The bytes that a receiver took in the last five seconds, by looks at their sum once a second. A value.
package struct RecentBytes: Sendable {
  /// Seconds.
  package static let window = 5
  package static let interval = 1.0

  /// The sums at the last looks, the oldest first.
  private var sums: [Int]

  /// - Parameters:
  ///   - sum: The bytes that were taken since `began`. What was taken longer ago than the window counts by its mean rate.
  package init(sum: Int, since began: MonotonicTime, at now: MonotonicTime) {
    let seconds = max(now.seconds(since: began), Double(Self.window))
    let before = sum - Int(Double(sum) / seconds * Double(Self.window))
    // As if they had been taken evenly.
    sums = (0...Self.window).map { before + (sum - before) * $0 / Self.window }
  }

  /// Another second has passed.
  package mutating func look(sum: Int) {
    sums.removeFirst()
    sums.append(max(sum, sums.last ?? 0))
  }

  package var count: Int { (sums.last ?? 0) - (sums.first ?? 0) }
}
