import WeirCurl
import WeirIO

/// The time for which an attempt has kept its destination busy: from when it went on the wire to its final head, without the
/// times in which the destination waits for the caller. A value.
struct AttemptClock: Sendable {
  /// Seconds.
  let limit: Double
  /// Seconds before the clock last began to run.
  private var elapsed = 0.0
  /// Since when the clock runs; nil while it stands.
  private var since: MonotonicTime?

  init(limit: Double) {
    self.limit = limit
  }

  /// Lets the clock run or stand. Returns whether that has changed.
  mutating func run(_ runs: Bool, at now: MonotonicTime) -> Bool {
    guard runs != (since != nil) else { return false }
    if let since { elapsed += max(0, now.seconds(since: since)) }
    since = runs ? now : nil
    return true
  }

  /// When the limit is reached; nil while the clock stands.
  var end: MonotonicTime? { since?.advanced(bySeconds: limit - elapsed) }
}

/// The limit on an attempt's time. An object, so that an attempt without a limit stays small.
final class AttemptLimit {
  @exclusivity(unchecked) var clock: AttemptClock
  let timer = LoopTimer()
  /// Whether the destination waits for bytes of the present hop's request.
  @exclusivity(unchecked) var awaitsBody = false
  /// Whether the final head is there, or that of a redirect that has answered for the destination, until the next hop.
  @exclusivity(unchecked) var hasHead = false
  @exclusivity(unchecked) var isReached = false

  init(seconds: Double) {
    clock = AttemptClock(limit: seconds)
  }

  /// A hop goes on the wire. What the one before it waited for, or was answered, does not count for it.
  func hopStarts() { (awaitsBody, hasHead) = (false, false) }

  /// The error of the attempt's transfer.
  func judged(_ error: TransferError?) -> TransferError? {
    isReached && error?.kind == .cancelled ? .attemptTimeout(clock.limit) : error
  }
}

extension Attempt {
  /// Ends the attempt as timed out once it has kept its destination busy for so many seconds without a final head.
  package func limit(to seconds: Double) { limit = AttemptLimit(seconds: seconds) }

  /// Lets the clock of the attempt's limit run while the destination has what it needs to answer.
  @inline(never)
  func steerClock() {
    guard let limit else { return }
    let runs = machine.stage == .onWire && machine.reads && !limit.hasHead && !limit.awaitsBody
    guard limit.clock.run(runs, at: .now) else { return }
    if let end = limit.clock.end {
      transport.loop.schedule(limit.timer, at: end, handler: self)
    } else {
      transport.loop.cancel(limit.timer)
    }
  }

  /// The destination waits for bytes of the request, or does so no more.
  func awaitsBody(_ awaits: Bool) {
    guard let limit, limit.awaitsBody != awaits else { return }
    limit.awaitsBody = awaits
    steerClock()
  }

  /// The limit is reached: the transfer ends, and reports that.
  func limitIsReached(_ limit: AttemptLimit) {
    limit.isReached = true
    transfer?.cancel()
  }
}
