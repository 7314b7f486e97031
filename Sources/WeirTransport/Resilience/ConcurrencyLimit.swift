import WeirIO

/// The adaptive limit of one destination as a value: it takes the times to answer, and gives the number of slots.
///
/// The rule is known as *gradient*: limit × shortest ÷ mean + √limit, smoothed. A destination that is always busy never
/// shows its shortest time, and each busy minute would be taken for the shortest of the next. So when the shortest time
/// is older than the baseline, the limit drops to the minimum until no more attempts than that are under way, and then
/// for one more window, in which the time is measured.
struct ConcurrencyLimit: Sendable {
  private enum Stage: Sendable {
    case following
    /// The limit is low until few attempts are under way, but for at most `windows` more windows: streams may last for
    /// hours.
    case draining(limit: Double, windows: Int)
    case measuring(limit: Double)
  }

  private struct Window: Sendable {
    var begin: MonotonicTime
    var count = 0
    var sum = 0.0
    var shortest = Double.infinity
    var mostUnderWay = 0
  }

  /// Fewer samples say nothing about a mean.
  private static let minimumSamples = 5
  private static let drainingWindows = 20

  private let maximum: Double
  private var stage = Stage.following
  private var limit: Double
  private var window: Window
  private var shortest = Double.infinity
  /// When `shortest` was last measured anew.
  private var measured: MonotonicTime

  /// - Parameter maximum: The destination's slots.
  init(_ settings: AdaptiveConcurrency, maximum: Int, at now: MonotonicTime) {
    self.maximum = Double(min(max(1, maximum), 1_000_000))
    limit = min(Double(max(settings.initial, settings.boundedMinimum)), self.maximum)
    window = Window(begin: now)
    measured = now
  }

  /// The number of attempts that may be under way.
  var slots: Int { Int(limit) }

  /// An answer came, or was waited for in vain. A wait in vain says nothing about the shortest time, as the answer
  /// would have taken longer.
  ///
  /// - Parameters:
  ///   - seconds: From the request sent to the first byte, or to the timeout.
  ///   - underWay: Attempts under way, this one included.
  /// - Returns: Whether the limit was computed anew.
  mutating func answered(
    after seconds: Double, inVain: Bool = false, underWay: Int, _ settings: AdaptiveConcurrency, at now: MonotonicTime
  ) -> Bool {
    guard seconds >= 0, seconds.isFinite else { return false }
    // A wait in vain gives no evidence if it was no longer than the shortest answer.
    if inVain, seconds <= shortest { return false }
    // An attempt that began among many others says nothing about the shortest time.
    if case .measuring = stage, now.seconds(since: window.begin) < seconds { return false }
    window.count += 1
    window.sum += seconds
    if !inVain { window.shortest = min(window.shortest, seconds) }
    window.mostUnderWay = max(window.mostUnderWay, underWay)
    guard now.seconds(since: window.begin) >= settings.boundedWindow, window.count >= Self.minimumSamples else {
      return false
    }
    let ended = window
    window = Window(begin: now)
    return windowEnded(ended, underWay: underWay, settings, at: now)
  }

  private mutating func windowEnded(
    _ ended: Window, underWay: Int, _ settings: AdaptiveConcurrency, at now: MonotonicTime
  ) -> Bool {
    switch stage {
    case .draining(let limit, _) where Double(underWay) <= least(settings):
      stage = .measuring(limit: limit)
      return false
    case .draining(let limit, let windows) where windows > 1:
      stage = .draining(limit: limit, windows: windows - 1)
      return false
    case .draining(let limit, _):
      stage = .following
      measured = now
      self.limit = limit
      return true
    case .measuring(let limit):
      stage = .following
      measure(ended, at: now)
      self.limit = limit
      return true
    case .following: return follow(ended, settings, at: now)
    }
  }

  private mutating func follow(_ ended: Window, _ settings: AdaptiveConcurrency, at now: MonotonicTime) -> Bool {
    // A limit that was not reached gives no evidence that it could be higher.
    let isUsed = Double(ended.mostUnderWay) >= limit / 2
    if now.seconds(since: measured) >= settings.boundedBaseline {
      let least = least(settings)
      if isUsed, limit > least {
        stage = .draining(limit: limit, windows: Self.drainingWindows)
        limit = least
        return true
      }
      measure(ended, at: now)
    }
    shortest = min(shortest, ended.shortest)
    if isUsed { step(mean: ended.sum / Double(ended.count), settings) }
    return isUsed
  }

  private mutating func measure(_ window: Window, at now: MonotonicTime) {
    // A window without any answer has no newer time.
    if window.shortest.isFinite { shortest = window.shortest }
    measured = now
  }

  private func least(_ settings: AdaptiveConcurrency) -> Double {
    min(Double(settings.boundedMinimum), maximum)
  }

  private mutating func step(mean: Double, _ settings: AdaptiveConcurrency) {
    let tolerated = settings.boundedTolerance * shortest
    let gradient = mean > 0 ? max(0.5, min(1, tolerated / mean)) : 1
    let target = limit * gradient + limit.squareRoot()
    limit += settings.boundedSmoothing * (target - limit)
    limit = min(max(limit, least(settings)), maximum)
  }
}
