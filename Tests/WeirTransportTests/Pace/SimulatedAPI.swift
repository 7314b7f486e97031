import WeirTestSupport

/// An API with a limit, in virtual time.
struct SimulatedAPI {
  enum Limit {
    case none
    /// So many requests in each second of its clock.
    case fixedSecond(Int)
    /// So many requests in any second.
    case slidingSecond(Int)
    /// So many requests at once.
    case concurrent(Int)
  }

  struct Model {
    var limit = Limit.none
    /// The mean time of an answer.
    var seconds = 0.02
    /// `Retry-After` of an answer of 429; nil for none.
    var retryAfter: Double? = 1
    /// Whether its answers say with the last request of a fixed second that there is none left (`RateLimit`).
    var tells = false
    /// The share of requests that fail at once, without a wish for a pause.
    var failing = 0.0
    /// Requests of this time hang for ten seconds.
    var hangs = 0.0..<0.0
    /// Requests of this time are refused.
    var isDown = 0.0..<0.0
    /// The limit no longer holds from this time on.
    var limitEnds = Double.infinity
  }

  struct Answer {
    let status: Int
    /// `Retry-After`.
    var retryAfter: Double?
    /// The seconds for which it asks for a pause in a way that is obeyed.
    var pause: Double?

    var isRefusal: Bool { status == 429 }
  }

  private let model: Model
  private var random: SeededRandom
  /// The times at which requests came that were let in, of the last second.
  private var recent: [Double] = []
  /// The times at which those end that are under way.
  private var ends: [Double] = []
  private var isTaken = false

  init(_ model: Model, seed: UInt64) {
    self.model = model
    random = SeededRandom(seed: seed)
  }

  /// A request comes.
  mutating func answer(at now: Double) -> Answer {
    isTaken = false
    guard !model.isDown.contains(now), hasRoom(at: now) else {
      return Answer(status: 429, retryAfter: model.retryAfter, pause: model.retryAfter)
    }
    isTaken = true
    if model.failing > 0, .random(in: 0..<1, using: &random) < model.failing { return Answer(status: 500) }
    if model.tells, now < model.limitEnds, case .fixedSecond(let most) = model.limit, recent.count == most {
      return Answer(status: 200, pause: now.rounded(.down) + 1 - now)
    }
    return Answer(status: 200)
  }

  /// The seconds that the answer to the request takes that came last.
  mutating func takes(at now: Double) -> Double {
    if !isTaken { return 0.002 }
    let seconds = model.hangs.contains(now) ? 10 : model.seconds * .random(in: 0.5...1.5, using: &random)
    if case .concurrent = model.limit { ends.append(now + seconds) }
    return seconds
  }

  private mutating func hasRoom(at now: Double) -> Bool {
    if now >= model.limitEnds { return true }
    switch model.limit {
    case .none: return true
    case .fixedSecond(let most):
      recent.removeAll { $0 < now.rounded(.down) }
      guard recent.count < most else { return false }
    case .slidingSecond(let most):
      recent.removeAll { $0 <= now - 1 }
      guard recent.count < most else { return false }
    case .concurrent(let most):
      ends.removeAll { $0 <= now }
      return ends.count < most
    }
    recent.append(now)
    return true
  }
}
