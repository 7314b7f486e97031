import WeirTransport

/// The counts of a subject within a span of time. Empty parts take no memory.
struct TrafficCounts: SpanCounts {
  var requests: UInt32 = 0
  var failed: UInt32 = 0
  var attempts: UInt32 = 0
  var denied: UInt32 = 0
  var limited: UInt32 = 0
  var shed: UInt32 = 0
  /// Those of them that the pace refused.
  var paced: UInt32 = 0
  var abandoned: UInt32 = 0
  /// Without the successful ones.
  var outcomes: [String: UInt32] = [:]
  var retries: [String: UInt32] = [:]
  /// By bucket.
  var durations: [UInt32] = []
  var phases: [String: [UInt32]] = [:]

  var retried: UInt32 { retries.values.reduce(0, &+) }

  var retriesWanted: UInt32 { retried &+ denied }

  /// - Parameter counts: By bucket for a histogram, else a single one.
  mutating func add(_ counts: [UInt32], _ fact: TrafficMetric.Fact, _ split: String) {
    let count = counts.first ?? 0
    switch fact {
    case .requests:
      requests &+= count
      if split != "success" { outcomes[split, default: 0] &+= count }
    case .failed: failed &+= count
    case .attempts: attempts &+= count
    case .retries: retries[split, default: 0] &+= count
    case .denied: denied &+= count
    case .limited: limited &+= count
    case .shed:
      shed &+= count
      if split == ShedReason.paused.rawValue || split == ShedReason.pace.rawValue { paced &+= count }
    case .abandoned: abandoned &+= count
    case .durations: Self.add(counts, to: &durations)
    case .attemptDurations:
      Self.add(counts, to: &durations)
      if Self.isFailure(split) { failed &+= counts.reduce(0, &+) }
    case .phases: Self.add(counts, to: &phases[split, default: []])
    case .inFlight, .activeAttempts, .budget, .circuit, .loadControl, .limit, .used: break
    }
  }

  /// Whether an attempt with this kind of error had no answer, or one of 500 or more: not one that was cancelled, or of
  /// which the caller is to blame.
  private static func isFailure(_ error: String) -> Bool {
    !error.isEmpty && !error.hasSuffix("cancelled") && !error.hasPrefix("session_")
      && !(error.utf8.count == 3 && error.first == "4")
  }

  mutating func add(_ other: TrafficCounts) {
    requests &+= other.requests
    failed &+= other.failed
    attempts &+= other.attempts
    denied &+= other.denied
    limited &+= other.limited
    shed &+= other.shed
    paced &+= other.paced
    abandoned &+= other.abandoned
    outcomes.merge(other.outcomes, uniquingKeysWith: &+)
    retries.merge(other.retries, uniquingKeysWith: &+)
    Self.add(other.durations, to: &durations)
    for (phase, counts) in other.phases { Self.add(counts, to: &phases[phase, default: []]) }
  }

  private static func add(_ counts: [UInt32], to sum: inout [UInt32]) {
    if sum.count < counts.count { sum += repeatElement(0, count: counts.count - sum.count) }
    for (index, count) in counts.enumerated() { sum[index] &+= count }
  }
}

/// A quantile of observations that were counted in buckets, as PromQL's `histogram_quantile` has it: interpolated
/// within its bucket; the highest bound for one beyond it. Nil without observations.
///
/// - Parameter counts: One for each bound, and one for what is beyond.
func quantile(_ part: Double, _ counts: [UInt32], bounds: [Double]) -> Double? {
  let total = counts.reduce(0.0) { $0 + Double($1) }
  guard total > 0, let highest = bounds.last else { return nil }
  let rank = part * total
  var below = 0.0
  for (index, count) in counts.enumerated() {
    guard below + Double(count) >= rank, count > 0 else {
      below += Double(count)
      continue
    }
    guard index < bounds.count else { return highest }
    let lower = index == 0 ? 0 : bounds[index - 1]
    return lower + (bounds[index] - lower) * (rank - below) / Double(count)
  }
  return highest
}
