import Synchronization
import Weir
import WeirMetrics

/// The counts of a method's requests, and the series that show them.
final class MethodSeries: Sendable {
  let method: String
  let started = Tally()
  /// The counts by outcome, in the order of the outcomes.
  let settled: [Tally]
  private let shownStarted: Counter
  private let shownSettled: [Counter]

  init(
    _ families: ClientMetrics, _ address: String, _ port: String, method: String, _ operation: String,
    outcomes: [RequestOutcome]
  ) {
    self.method = method
    settled = outcomes.map { _ in Tally() }
    shownStarted = families.requestsStarted.with(address, port, method)
    shownSettled = outcomes.map { families.requests.with(address, port, method, $0.rawValue, operation) }
  }

  /// Brings the series up to date. Returns how many requests were started and have not settled. The settled ones are
  /// read first, so that the start of each of them is read too.
  func show() -> Int {
    var ended: UInt64 = 0
    for (tally, counter) in zip(settled, shownSettled) {
      let count = tally.count
      counter.advance(to: count)
      ended += count
    }
    let begun = started.count
    shownStarted.advance(to: begun)
    return Int(clamping: begun) - Int(clamping: ended)
  }
}

/// A number that is counted here and shown by a series elsewhere.
final class Tally: Sendable {
  private let value = Atomic<UInt64>(0)

  var count: UInt64 { value.load(ordering: .acquiring) }

  func add() { value.wrappingAdd(1, ordering: .releasing) }
}
