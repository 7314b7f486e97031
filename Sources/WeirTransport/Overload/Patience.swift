import WeirIO

/// How long callers wait before they give up: the lower quartile of the ages at which the last of them did.
struct Patience: Sendable {
  private struct Age: Sendable {
    let seconds: Double
    let time: MonotonicTime
  }

  private static let count = 32
  /// Fewer say nothing.
  private static let leastCount = 5
  /// Seconds after which an age is forgotten.
  private static let memory = 30.0

  /// Seconds; nil while too few callers have given up lately. As of the last ``update(at:)``.
  private(set) var seconds: Double?
  private var ages: [Age] = []
  private var next = 0

  /// A caller gave up at this age.
  mutating func note(_ seconds: Double, at now: MonotonicTime) {
    let age = Age(seconds: seconds, time: now)
    if ages.count < Self.count { ages.append(age) } else { ages[next] = age }
    next = (next + 1) % Self.count
  }

  /// Takes the quartile anew. Called twice a second, as it sorts the ages.
  mutating func update(at now: MonotonicTime) {
    if ages.isEmpty { return }
    let recent = ages.filter { now.seconds(since: $0.time) < Self.memory }
    seconds = recent.count < Self.leastCount ? nil : recent.map(\.seconds).sorted()[recent.count / 4]
    if recent.isEmpty { (ages, next) = ([], 0) }
  }
}
