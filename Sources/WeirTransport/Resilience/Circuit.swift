import WeirIO

/// The circuit of one destination as a value: the share of requests that are let through, and how it follows from how
/// attempts end.
///
/// ```
/// closed ─► below 1 ─► closed     too many failed; enough of the last succeeded
/// ```
/// Once too many attempts of a window have failed, the share becomes the part of them that succeeded ÷ the part that
/// would have to. From then on it follows the successes of the last two seconds: down at once, up at most twofold in a
/// quarter of a second. Some requests always go through, so that a recovery is seen within a second.
///
/// A request that is let through gets a pass and gives it back, with how it ended. A pass of an earlier period does not
/// count: what began before the share fell, or rose again, says nothing about whether the destination has recovered.
struct Circuit: Sendable {
  struct Pass: Hashable, Sendable {
    fileprivate let period: UInt32
  }

  enum Ending: Hashable, Sendable {
    case succeeded, failed
    /// The attempt was cancelled or never sent, which says nothing about the destination.
    case abandoned
  }

  private struct Counts: BucketCounts {
    var ended: UInt32 = 0
    var failed: UInt32 = 0
  }

  /// The endings of the last attempts, a bit for each that failed.
  private struct Last: Sendable {
    static let count = 40
    private var bits: UInt64 = 0
    private var count = 0

    mutating func note(failed: Bool) {
      bits = (bits << 1 | (failed ? 1 : 0)) & (1 << UInt64(Self.count) - 1)
      count = min(count + 1, Self.count)
    }

    var succeeded: Double { count == 0 ? 1 : Double(count - bits.nonzeroBitCount) / Double(count) }
  }

  private static let leastShare = 0.02
  /// Seconds between two requests that are let through, at most.
  private static let longestGap = 0.5
  /// The share below which the circuit is reported as open.
  private static let openShare = 0.1
  /// Seconds whose attempts decide about a share below 1, and attempts that must have ended in them before it falls.
  private static let window = 2.0
  private static let leastEnded = 5
  /// Seconds between two rises.
  private static let riseInterval = 0.25

  /// The share of requests that are let through.
  private(set) var share = 1.0
  /// The shares of requests saved up so far, at most two; one request goes through for each whole share.
  private var credit = 0.0
  private var lastThrough: MonotonicTime
  private var lastRise: MonotonicTime
  private var counts: TimeBuckets<Counts>
  private var last = Last()
  private var period: UInt32 = 0

  init(at now: MonotonicTime) {
    counts = TimeBuckets(at: now)
    lastThrough = now
    lastRise = now
  }

  var state: CircuitState { share >= 1 ? .closed : share < Self.openShare ? .open : .halfOpen }

  /// Whether a pass is one of the present period.
  func isValid(_ pass: Pass) -> Bool { pass.period == period }

  /// Whether ``ask(at:)`` would reject.
  func rejects(at now: MonotonicTime) -> Bool {
    share < 1 && credit + share < 1 && now.seconds(since: lastThrough) < Self.longestGap
  }

  /// An attempt wants to go to the destination. Nil if it is rejected.
  mutating func ask(at now: MonotonicTime) -> Pass? {
    let isRejected = rejects(at: now)
    credit = min(2, credit + share)
    if isRejected { return nil }
    if credit >= 1 { credit -= 1 }
    lastThrough = now
    return Pass(period: period)
  }

  /// An attempt that was let through has ended.
  mutating func ended(_ pass: Pass, _ ending: Ending, _ settings: CircuitBreaker, at now: MonotonicTime) {
    guard isValid(pass), ending != .abandoned else { return }
    let failed = ending == .failed
    counts.count(at: now) { counts in
      counts.ended &+= 1
      if failed { counts.failed &+= 1 }
    }
    last.note(failed: failed)
    if share < 1 { follow(settings, at: now) } else if failed { fallIfTooManyFailed(settings, at: now) }
  }

  private mutating func fallIfTooManyFailed(_ settings: CircuitBreaker, at now: MonotonicTime) {
    let sums = sums(of: settings.boundedWindow, at: now)
    guard settings.opens(failed: sums.failed, of: sums.ended) else { return }
    share = bounded(last.succeeded, settings)
    if share < Self.openShare { beginPeriod(at: now) }
  }

  private mutating func follow(_ settings: CircuitBreaker, at now: MonotonicTime) {
    let sums = sums(of: Self.window, at: now)
    guard sums.ended > 0 else { return }
    let wanted = bounded(Double(sums.ended - sums.failed) / Double(sums.ended), settings)
    if wanted < share {
      if sums.ended >= Self.leastEnded { share = wanted }
    } else if now.seconds(since: lastRise) >= Self.riseInterval {
      share = min(wanted, max(2 * share, Self.openShare))
      lastRise = now
      // Earlier failures would hold the share down, or make it fall again.
      if share < 0.5 || share >= 1 { beginPeriod(at: now) }
    }
  }

  /// The share of requests to let through when `succeeded` of the attempts succeed.
  private func bounded(_ succeeded: Double, _ settings: CircuitBreaker) -> Double {
    let tolerated = 1 - settings.boundedRatio
    if tolerated <= 0 { return succeeded > 0 ? 1 : Self.leastShare }
    return min(1, max(Self.leastShare, succeeded / tolerated))
  }

  private mutating func beginPeriod(at now: MonotonicTime) {
    counts = TimeBuckets(at: now)
    last = Last()
    period &+= 1
  }

  private func sums(of window: Double, at now: MonotonicTime) -> (ended: Int, failed: Int) {
    var sums = (ended: 0, failed: 0)
    counts.forEach(in: window, before: now) { bucket, isWhole in
      guard isWhole else { return }
      sums.ended += Int(bucket.ended)
      sums.failed += Int(bucket.failed)
    }
    return sums
  }
}

/// Settings by which requests to a failing destination are rejected, as many as would fail.
///
/// A *closed* circuit admits every attempt and counts how attempts end. When at least `minimumRequests` ended in the
/// window and `failureRatio` of them failed, the circuit admits only a share of the attempts: as many as the
/// destination answers well, and the failures that are tolerated beside them. The share follows the last two seconds,
/// down at once and up at most twofold in a quarter of a second. An attempt in fifty, and one in half a second, is
/// always admitted, so that a recovery is seen soon. The others are rejected with
/// ``WeirError/RequestRejectionReason/circuitOpen(retryAfter:)`` before they cost a connection, and no retrier is
/// asked.
///
/// Failures are transport errors, timeouts and statuses from 500 on. A request that its caller cancelled is a failure
/// if it had been on the wire for more than a second and, where the time of a fast answer is known
/// (``OverloadSettings``), for more than three times that. Other attempts that were cancelled, or rejected, do not
/// count. Neither does one that failed for a reason in this process, such as a lack of descriptors. A deadline that
/// passed while the request's body was sent does not count either, as the caller may have been slow.
public struct CircuitBreaker: Sendable, Hashable {
  /// Failed attempts ÷ all attempts that ended; 0 to 1.
  public var failureRatio: Double
  /// The number of attempts that must have ended in the window before any is rejected.
  public var minimumRequests: Int
  /// The length of the window, in seconds; 1 to 60.
  public var window: Double

  /// Takes the numbers. Numbers out of range count as the nearest valid ones. NaN counts as a ratio of 1, and as the
  /// shortest time.
  public init(failureRatio: Double = 0.5, minimumRequests: Int = 20, window: Double = 10) {
    self.failureRatio = failureRatio
    self.minimumRequests = minimumRequests
    self.window = window
  }
}

/// The state of a destination's ``CircuitBreaker``.
public enum CircuitState: String, Sendable, CaseIterable {
  /// Every attempt is admitted.
  case closed
  /// Less than a tenth of the attempts are admitted.
  case open
  /// A tenth of the attempts or more are admitted, but not all.
  case halfOpen = "half_open"
}

extension CircuitBreaker {
  /// The range of ``window``, in seconds.
  package static let windows = 1.0...60.0

  var boundedWindow: Double { window.clamped(to: Self.windows) }

  var boundedRatio: Double { failureRatio < 1 ? max(0, failureRatio) : 1 }

  /// Whether so many have failed that some are rejected.
  func opens(failed: Int, of ended: Int) -> Bool {
    failed > 0 && ended >= minimumRequests && Double(failed) >= boundedRatio * Double(ended)
  }
}
