import WeirIO

/// The adaptive limit of one destination as a value: takes how long answers took, says how many attempts there may be.
///
/// The rule is the one known as *gradient*: limit × shortest ÷ mean + √limit, smoothed.
struct ConcurrencyLimit: Sendable {
  /// The mean of the present window.
  private struct Window: Sendable {
    var begin: MonotonicTime
    var count = 0
    var sum = 0.0
    var mostUnderWay = 0
  }

  /// The shortest answer: of the present stretch of the baseline, and of the one before, so that none counts for ever.
  private struct Shortest: Sendable {
    var begin: MonotonicTime
    var present = Double.infinity
    var before = Double.infinity

    mutating func add(_ seconds: Double, baseline: Double, at now: MonotonicTime) {
      let age = now.seconds(since: begin)
      if age >= baseline / 2 {
        before = age >= baseline ? .infinity : present
        present = .infinity
        begin = now
      }
      present = min(present, seconds)
    }

    var seconds: Double { min(present, before) }
  }

  /// Fewer say nothing about a mean.
  private static let minimumSamples = 5

  private let maximum: Double
  private var limit: Double
  private var window: Window
  private var shortest: Shortest

  /// - Parameter maximum: The destination's slots.
  init(_ settings: AdaptiveConcurrency, maximum: Int, at now: MonotonicTime) {
    self.maximum = Double(max(1, maximum))
    limit = Double(max(settings.initial, settings.minimum, 1))
    window = Window(begin: now)
    shortest = Shortest(begin: now)
    limit = min(limit, self.maximum)
  }

  /// As many attempts may be under way.
  var slots: Int { Int(limit) }

  /// An answer came.
  ///
  /// - Parameters:
  ///   - seconds: From the request sent to the first byte.
  ///   - underWay: Attempts, this one included.
  /// - Returns: Whether the limit was found anew.
  mutating func answered(
    after seconds: Double, underWay: Int, _ settings: AdaptiveConcurrency, at now: MonotonicTime
  ) -> Bool {
    guard seconds >= 0, seconds.isFinite else { return false }
    shortest.add(seconds, baseline: max(1, settings.baseline), at: now)
    window.count += 1
    window.sum += seconds
    window.mostUnderWay = max(window.mostUnderWay, underWay)
    guard now.seconds(since: window.begin) >= max(0, settings.window), window.count >= Self.minimumSamples else {
      return false
    }
    let ended = window
    window = Window(begin: now)
    // Who doesn't use the limit doesn't learn whether it could be higher.
    guard Double(ended.mostUnderWay) >= limit / 2 else { return false }
    step(mean: ended.sum / Double(ended.count), settings)
    return true
  }

  private mutating func step(mean: Double, _ settings: AdaptiveConcurrency) {
    let tolerated = max(1, settings.tolerance) * shortest.seconds
    let gradient = mean > 0 ? max(0.5, min(1, tolerated / mean)) : 1
    let smoothing = max(0, min(1, settings.smoothing))
    let target = limit * gradient + limit.squareRoot()
    limit += smoothing * (target - limit)
    limit = min(max(limit, Double(max(1, settings.minimum))), maximum)
  }
}
