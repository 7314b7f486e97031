import WeirIO

/// The time and the attempts that a request has cost at upstreams: at its route's, and at that of a fallback.
struct UpstreamTally {
  /// When the request to the present upstream began.
  private(set) var began = MonotonicTime(nanoseconds: 0)
  /// When the request must be over, whichever upstream it is at.
  var deadline = MonotonicTime.distantFuture
  /// Seconds for which the request was at upstreams; nil before the first time has ended.
  private(set) var seconds: Double?
  /// The number of attempts that were put on the wire.
  private(set) var started = 0
  private var startedBefore = 0
  /// The status of the last attempt that has ended at the present upstream.
  var lastStatus: Int?

  /// The number of attempts that were put on the wire to the present upstream.
  var startedHere: Int { started - startedBefore }

  mutating func begins(at now: MonotonicTime) {
    began = now
    startedBefore = started
    lastStatus = nil
  }

  mutating func startsAttempt() { started += 1 }

  mutating func ends(at now: MonotonicTime) { seconds = (seconds ?? 0) + now.seconds(since: began) }
}
