import Glibc
import WeirTestSupport

/// How an upstream behaves for a time.
struct UpstreamModel: Sendable {
  enum Service: Sendable {
    /// So many requests at once, the others in a queue without a bound.
    case queue(servers: Int)
    /// All requests at once; more than so many slow each other down.
    case sharing(servers: Int)
    /// One at a time, each longer by its share of the queue: twice as long with so many waiting.
    case collapsing(queue: Double)
    case refusing
    case hanging
    /// As a queue that takes nothing in for a while.
    case pausing
  }

  enum Distribution: Sendable {
    case constant
    case exponential
    /// A tenth takes ten times as long.
    case bimodal
    case lognormal
  }

  var service: Service
  /// The mean of one request's service, in seconds; of the nine tenths where it is bimodal.
  var seconds = 0.025
  var distribution = Distribution.constant
  /// The share of answers with status 503 that take as long as others.
  var failing = 0.0
  /// The share of requests answered with `fastStatus` at once.
  var failingFast = 0.0
  var fastStatus = 503
  /// The share of long polls, which take no work and 5 to 30 s.
  var longPolls = 0.0
  /// Seconds in which the capacity rises from a fifth to all of it.
  var ramp = 0.0

  func with(_ change: (inout UpstreamModel) -> Void) -> UpstreamModel {
    var model = self
    change(&model)
    return model
  }

  static let one = UpstreamModel(service: .queue(servers: 1))
  static let four = UpstreamModel(service: .queue(servers: 4), seconds: 0.1, distribution: .exponential)

  static func queue(_ servers: Int, _ seconds: Double, _ distribution: Distribution = .constant) -> UpstreamModel {
    UpstreamModel(service: .queue(servers: servers), seconds: seconds, distribution: distribution)
  }

  static func sharing(_ servers: Int, _ seconds: Double, _ distribution: Distribution = .constant) -> UpstreamModel {
    UpstreamModel(service: .sharing(servers: servers), seconds: seconds, distribution: distribution)
  }
}

/// An upstream in virtual time. It finishes the work of callers that have left.
struct SimulatedUpstream {
  enum Event {
    /// A queue's server has finished a request.
    case served(Int)
    /// The first of those that share may have finished; nothing if another plan was made since.
    case shared(plan: Int)
    /// The answer reaches the gateway.
    case answer(Int, status: Int)
  }

  private static let network = 0.0005

  private var model: UpstreamModel
  private var begin = 0.0
  private var random: SeededRandom
  private var queue: [Int] = []
  private var queueHead = 0
  private var busy = 0
  /// Requests that share, by the virtual time at which they are finished: a heap, the earliest first.
  private var sharing = EventHeap<Int>()
  private var virtualTime = 0.0
  private var virtualClock = 0.0
  private var plan = 0
  /// What is to happen, in seconds from now; the simulation takes it.
  private(set) var planned: [(after: Double, event: Event)] = []

  init(_ model: UpstreamModel, seed: UInt64) {
    self.model = model
    random = SeededRandom(seed: seed)
  }

  mutating func takePlanned() -> [(after: Double, event: Event)] {
    defer { planned.removeAll(keepingCapacity: true) }
    return planned
  }

  mutating func become(_ model: UpstreamModel, at now: Double) {
    self.model = model
    begin = now
    serve(at: now)
  }

  /// - Parameter seconds: Of an answer that takes no work.
  mutating func receive(_ request: Int, taking seconds: Double? = nil, at now: Double) {
    switch model.service {
    case .refusing: return planned.append((Self.network, .answer(request, status: 502)))
    case .hanging: return
    default: break
    }
    if let seconds { return planned.append((seconds, .answer(request, status: 200))) }
    if happens(model.longPolls) {
      return planned.append((.random(in: 5...30, using: &random), .answer(request, status: 200)))
    }
    if happens(model.failingFast) {
      return planned.append((Self.network + 0.001, .answer(request, status: model.fastStatus)))
    }
    if case .sharing = model.service {
      share(request, at: now)
    } else {
      queue.append(request)
      serve(at: now)
    }
  }

  mutating func happened(_ event: Event, at now: Double) {
    switch event {
    case .served(let request):
      busy -= 1
      finish(request)
      serve(at: now)
    case .shared(let plan): if plan == self.plan { finishShared(at: now) }
    case .answer: break
    }
  }

  private mutating func happens(_ share: Double) -> Bool { share > 0 && .random(in: 0..<1, using: &random) < share }

  private mutating func finish(_ request: Int) {
    planned.append((Self.network, .answer(request, status: happens(model.failing) ? 503 : 200)))
  }

  private mutating func serve(at now: Double) {
    let servers: Int
    switch model.service {
    case .queue(let count): servers = count
    case .collapsing: servers = 1
    default: return
    }
    while busy < servers, queueHead < queue.count {
      let request = queue[queueHead]
      queueHead += 1
      if queueHead == queue.count { (queue, queueHead) = ([], 0) }
      busy += 1
      var seconds = workSeconds(at: now)
      if case .collapsing(let half) = model.service { seconds *= 1 + Double(queue.count - queueHead) / half }
      planned.append((seconds, .served(request)))
    }
  }

  private mutating func workSeconds(at now: Double) -> Double {
    var mean = model.seconds
    if model.ramp > 0 { mean /= min(1, 0.2 + 0.8 * (now - begin) / model.ramp) }
    switch model.distribution {
    case .constant: return mean
    case .exponential: return random.exponential(mean: mean)
    case .bimodal: return happens(0.1) ? 10 * mean : mean
    case .lognormal: return mean * exp(random.normal() - 0.5)
    }
  }

  // MARK: Sharing

  private var speed: Double {
    guard case .sharing(let servers) = model.service, sharing.count > 0 else { return 0 }
    return min(1, Double(servers) / Double(sharing.count))
  }

  private mutating func share(_ request: Int, at now: Double) {
    moveVirtualTime(to: now)
    sharing.push(request, at: virtualTime + workSeconds(at: now))
    planShared()
  }

  private mutating func moveVirtualTime(to now: Double) {
    virtualTime += (now - virtualClock) * speed
    virtualClock = now
  }

  private mutating func finishShared(at now: Double) {
    moveVirtualTime(to: now)
    while let first = sharing.first, first <= virtualTime + 1e-9, let (_, request) = sharing.pop() { finish(request) }
    planShared()
  }

  private mutating func planShared() {
    plan += 1
    guard let first = sharing.first else { return }
    planned.append((max(0, (first - virtualTime) / speed), .shared(plan: plan)))
  }
}

/// Events by time, those of one time in the order in which they were pushed.
struct EventHeap<Event> {
  private var entries: [(time: Double, number: Int, event: Event)] = []
  private var number = 0

  var count: Int { entries.count }
  var first: Double? { entries.first?.time }

  mutating func push(_ event: Event, at time: Double) {
    number += 1
    entries.append((time, number, event))
    var index = entries.count - 1
    while index > 0, isBefore(index, (index - 1) / 2) {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  mutating func pop() -> (time: Double, event: Event)? {
    guard let first = entries.first else { return nil }
    let last = entries.removeLast()
    if !entries.isEmpty {
      entries[0] = last
      var index = 0
      while true {
        var child = 2 * index + 1
        guard child < entries.count else { break }
        if child + 1 < entries.count, isBefore(child + 1, child) { child += 1 }
        guard isBefore(child, index) else { break }
        entries.swapAt(index, child)
        index = child
      }
    }
    return (first.time, first.event)
  }

  private func isBefore(_ left: Int, _ right: Int) -> Bool {
    (entries[left].time, entries[left].number) < (entries[right].time, entries[right].number)
  }
}

extension SeededRandom {
  mutating func exponential(mean: Double) -> Double { -mean * log(1 - .random(in: 0..<1, using: &self)) }

  mutating func normal() -> Double {
    let (first, second) = (Double.random(in: 0..<1, using: &self), Double.random(in: 0..<1, using: &self))
    return sqrt(-2 * log(1 - first)) * cos(2 * .pi * second)
  }
}
