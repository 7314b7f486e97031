import WeirExporter

/// The attempts at each endpoint of named upstreams, of the last ten seconds and five minutes.
struct EndpointShares {
  struct Key: Hashable {
    var upstream: String
    var endpoint: String
  }

  struct Attempts: SpanCounts, Equatable {
    var successes: UInt32 = 0
    var failures: UInt32 = 0

    var all: Int { Int(successes) + Int(failures) }

    mutating func add(_ other: Attempts) {
      successes &+= other.successes
      failures &+= other.failures
    }

    fileprivate func since(_ before: Attempts) -> Attempts {
      Attempts(successes: successes &- before.successes, failures: failures &- before.failures)
    }
  }

  private struct Entry {
    var ring = SpanRing<Attempts>()
    var last: Attempts
    var seen: Int
  }

  private var entries: [Key: Entry] = [:]
  private var readings = 0

  /// Takes the counts of all endpoints, each since it is known.
  mutating func read(_ counts: [(key: Key, attempts: Attempts)]) {
    readings += 1
    for (key, attempts) in counts {
      // Counts from before the first reading may be old. A later endpoint is new.
      var entry = entries[key] ?? Entry(last: readings == 1 ? attempts : Attempts(), seen: 0)
      // An endpoint that left and came back counts from zero: the difference wraps around.
      let change = attempts.since(entry.last)
      let isAnew = max(change.successes, change.failures) > .max / 2
      entry.ring.present.add(isAnew ? attempts : change)
      entry.last = attempts
      entry.seen = readings
      entries[key] = entry
    }
    entries = entries.filter { $0.value.seen == readings }
  }

  /// Ends a bucket of five seconds.
  mutating func turn() {
    for key in entries.keys { entries[key]?.ring.turn() }
  }

  func attempts(of key: Key) -> (last10s: Attempts, last5m: Attempts) {
    guard let ring = entries[key]?.ring else { return (Attempts(), Attempts()) }
    return (ring.last10s, ring.last5m)
  }
}
