import WeirIO

/// Decides when one signal is exported. A value: its caller says what waits, and what the time is.
///
/// ```
///             due, or a batch waits              ended
///   *idle* ─────────────────────────► *under way* ─────► *idle*
///     │ finish                            │ finish
///     ▼                                   ▼
///   *finishing*, which exports what waits, one export after another ──► *over*, once nothing waits or at the end
/// ```
///
/// After a failure a batch does not go at once, but when it is due; and nothing goes before the time that the collector
/// asked for. After each call the shell asks for ``step(waiting:at:)``.
struct ExportMachine {
  enum Step: Equatable {
    /// Export what waits, a batch at most. It is under way from now on.
    case export
    /// Ask again then.
    case wait(until: MonotonicTime)
    /// Cancel what is under way: the time to finish has passed.
    case cancel
    /// It is over. What waits is lost.
    case over
  }

  /// How an export has ended.
  enum Ending: Equatable {
    /// The collector has taken the message, or refused it for good.
    case answered
    /// There was no answer, or one that asks to come again.
    case failed(retryAfter: Double?)
  }

  /// The signals that are exported.
  enum Kind: Equatable {
    /// Items that wait, so many of them at once.
    case items(batch: Int)
    /// The present state of something that is always there.
    case state
  }

  private let kind: Kind
  private let interval: Double
  private(set) var isUnderWay = false
  /// Whether the export under way was given up, or the last one was.
  private(set) var isCancelled = false
  /// When what waits is exported, even if it is no batch.
  private var due: MonotonicTime
  /// Whether a batch goes before ``due``.
  private var takesBatches = true
  /// Nothing goes before, as the collector has asked.
  private var pause = MonotonicTime(nanoseconds: 0)
  /// When it has to be over; nil while it does not end.
  private var end: MonotonicTime?
  /// Whether the last state has been exported.
  private var isLastSent = false

  init(_ kind: Kind, every interval: Double, from now: MonotonicTime) {
    (self.kind, self.interval) = (kind, interval)
    due = now.advanced(bySeconds: interval)
  }

  /// - Parameter waiting: The number of items; without a meaning for a state.
  mutating func step(waiting: Int, at now: MonotonicTime) -> Step {
    if isUnderWay {
      guard let end, !isCancelled else { return .wait(until: .distantFuture) }
      if now < end { return .wait(until: end) }
      isCancelled = true
      return .cancel
    }
    let waits = kind == .state ? !isLastSent : waiting > 0
    if let end {
      if now >= end || pause >= end || !waits { return .over }
    } else if now >= due {
      due = now.advanced(bySeconds: interval)
      takesBatches = true
      if !waits { return .wait(until: max(due, pause)) }
    } else if !isBatch(waiting) {
      return .wait(until: max(due, pause))
    }
    if now < pause { return .wait(until: pause) }
    isUnderWay = true
    if end != nil { isLastSent = true }
    return .export
  }

  private func isBatch(_ waiting: Int) -> Bool {
    if case .items(let batch) = kind { takesBatches && waiting >= batch } else { false }
  }

  /// The export has ended.
  mutating func ended(_ ending: Ending, at now: MonotonicTime) {
    isUnderWay = false
    guard case .failed(let wish) = ending else { return }
    takesBatches = false
    due = now.advanced(bySeconds: interval)
    if let wish { pause = now.advanced(bySeconds: wish) }
  }

  /// Exports what waits, and is over at `end` at the latest.
  mutating func finish(by end: MonotonicTime) { self.end = min(end, self.end ?? end) }

  /// The seconds that an export may take.
  func limit(_ timeout: Double, at now: MonotonicTime) -> Double {
    min(timeout, end.map { max(0.001, $0.seconds(since: now)) } ?? timeout)
  }
}
