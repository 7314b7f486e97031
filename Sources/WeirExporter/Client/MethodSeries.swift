import Synchronization
import Weir
import WeirMetrics

/// The count of a method's requests that were started, and the series that shows it.
final class StartedSeries: Sendable {
  let method: String
  let count = Tally()
  private let shown: Counter

  init(_ families: ClientMetrics, _ address: String, _ port: String, method: String) {
    self.method = method
    shown = families.requestsStarted.with(address, port, method)
  }

  /// Brings the series up to date, and returns the count.
  func show() -> Int {
    let count = count.value
    shown.advance(to: count)
    return Int(clamping: count)
  }
}

/// The counts of a method's requests that settled, and the series that show them.
final class SettledSeries: Sendable {
  let method: String
  /// By outcome, in the order of the outcomes.
  private let counts: [Tally]
  private let shown: [Counter]

  /// Stored, because `allCases` makes an array each time.
  private static let outcomes = RequestOutcome.allCases

  /// - Parameter operation: Empty for requests without one.
  init(_ destination: DestinationMetrics, method: String, _ operation: String) {
    self.method = method
    counts = Self.outcomes.map { _ in Tally() }
    shown = Self.outcomes.map {
      destination.families.requests.with(destination.address, destination.port, method, $0.rawValue, operation)
    }
  }

  func count(_ outcome: RequestOutcome) {
    if let index = Self.outcomes.firstIndex(of: outcome) { counts[index].add() }
  }

  /// Brings the series up to date, and returns the sum of the counts.
  func show() -> Int {
    var sum: UInt64 = 0
    for (tally, counter) in zip(counts, shown) {
      let count = tally.value
      counter.advance(to: count)
      sum += count
    }
    return Int(clamping: sum)
  }
}

/// A number that is counted here and shown by a series elsewhere.
final class Tally: Sendable {
  private let stored = Atomic<UInt64>(0)

  var value: UInt64 { stored.load(ordering: .acquiring) }

  func add() { stored.wrappingAdd(1, ordering: .releasing) }
}
