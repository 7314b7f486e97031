package import WeirIO

/// A name under watch, with its schedule and its watches.
///
/// Confined to the loop. States: looking (a lookup is pending; ends by its result or `end`), resting (the timer is armed;
/// ends by the timer, `retryAtOnce` or `end`), ended (no exit).
final class WatchedName {
  private let question: Question
  private let timeout: Double
  private let resolver: Resolver
  private let random: () -> Double
  /// Called when the last watch has gone.
  private let unwatched: () -> Void
  private var schedule: LookupSchedule
  private let timer = LoopTimer()
  private var lookup: PendingLookup?
  private var watches: [Watch] = []
  private var lastAnswer: Answer?
  /// The problem of the last lookup; nil if that brought an answer.
  private var problem: LookupProblem?

  init(
    _ key: NameWatcher.Key, resolver: Resolver, random: @escaping () -> Double, unwatched: @escaping () -> Void
  ) {
    question = key.question
    timeout = key.rules.timeout
    schedule = LookupSchedule(minimum: key.rules.minimum, maximum: key.rules.maximum)
    self.resolver = resolver
    self.random = random
    self.unwatched = unwatched
  }

  func begin() {
    resolver.loop.cancel(timer)
    lookup = resolver.lookUp(question, timeout: timeout, seeksGaps: true) { [weak self] in self?.lookedUp($0) }
  }

  func add(_ watch: Watch) {
    watch.name = self
    watches.append(watch)
    guard known != nil else { return }
    resolver.loop.atEndOfTurn { [weak self] in
      // A lookup that has ended since has told it something newer.
      guard let known = self?.known, !watch.hasHeard else { return }
      watch.tell(known)
    }
  }

  func remove(_ watch: Watch) {
    watches.removeAll { $0 === watch }
    guard watches.isEmpty else { return }
    end()
    unwatched()
  }

  /// Looks the name up now if its last lookup failed.
  func retryAtOnce() {
    if problem != nil, lookup == nil { begin() }
  }

  /// Ends lookups. The watches hear nothing more.
  func end() {
    resolver.loop.cancel(timer)
    lookup?.cancel()
    lookup = nil
    for watch in watches { watch.silence() }
    watches = []
  }

  /// The news for a new watch.
  private var known: Lookup? {
    lastAnswer.map { .success($0) } ?? problem.map { .failure($0) }
  }

  private func lookedUp(_ news: Lookup) {
    lookup = nil
    let now = MonotonicTime.now
    let due: MonotonicTime
    switch news {
    case .success(let answer):
      lastAnswer = answer
      problem = nil
      due = schedule.answered(question.kind, ttl: answer.ttl, at: now, random: random())
    case .failure(let failure):
      problem = failure
      due = schedule.failed(at: now)
    }
    resolver.loop.schedule(timer, at: due, handler: self)
    // One that a watcher cancels meanwhile is not told.
    for watch in watches { watch.tell(news) }
  }
}

extension WatchedName: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    begin()
  }
}

/// Decides when a name is looked up next. The time and the randomness are its caller's.
package struct LookupSchedule: Hashable, Sendable {
  /// The interval of questions for services in seconds: c-ares 1.18 drops the TTL of SRV records.
  package static let serviceInterval = 10.0
  /// The largest part of an interval that is left out at random, so that instances don't ask in step.
  static let largestCut = 0.1

  private let minimum: Double
  private let maximum: Double
  /// The wait after the next failure.
  private var nextRetry: Double

  /// - Parameter minimum: The least seconds between two lookups, but for the random part.
  /// - Parameter maximum: The most seconds between two lookups; at least `minimum`.
  package init(minimum: Double, maximum: Double) {
    self.minimum = minimum
    self.maximum = max(minimum, maximum)
    nextRetry = minimum
  }

  /// The time of the next lookup after an answer at `now`.
  ///
  /// - Parameter ttl: The seconds for which the answer holds; nil if it says nothing about that.
  /// - Parameter random: A number from 0 up to 1.
  package mutating func answered(
    _ kind: Question.Kind, ttl: Double?, at now: MonotonicTime, random: Double
  ) -> MonotonicTime {
    nextRetry = minimum
    let interval =
      switch kind {
      case .addresses: ttl ?? minimum
      case .services: Self.serviceInterval
      }
    let clamped = min(max(interval, minimum), maximum)
    return now.advanced(bySeconds: clamped * (1 - Self.largestCut * random))
  }

  /// The time of the next lookup after a failure at `now`.
  package mutating func failed(at now: MonotonicTime) -> MonotonicTime {
    let wait = nextRetry
    nextRetry = min(wait * 2, maximum)
    return now.advanced(bySeconds: wait)
  }
}
