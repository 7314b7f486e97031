import Testing
import WeirTestSupport

@testable import Weir

/// Drives deliveries through random interleavings: handlers at once and later, failures, readers, retries, the end.
@Suite("§8.4 StreamDelivery simulation", .slow)
struct StreamDeliverySimulationTests {
  @Test("4,000 streams deliver each chunk once and in order, within the limit, and end")
  func interleavings() {
    var outcomes: [String: Int] = [:]
    for seed in 0..<4_000 {
      var simulation = Simulation(seed: UInt64(seed))
      simulation.run()
      #expect(simulation.violations.isEmpty, "seed \(seed): \(simulation.violations) after \(simulation.log)")
      if !simulation.violations.isEmpty { return }
      for outcome in simulation.seen { outcomes[outcome, default: 0] += 1 }
    }
    for outcome in [
      "settled early", "ended", "failed", "paused", "waited for calls", "retried", "closed", "more after a pause",
    ] {
      #expect(outcomes[outcome, default: 0] > 100, "\(outcome): \(outcomes)")
    }
  }
}

/// The shell of a stream whose queues are a list of what is to come.
private struct Simulation {
  private enum Pending: Equatable {
    case serialization(Int, chunk: Int, handlers: Int)
    case turn(Int)
    case call(Int, chunk: Int)
    case take(Int)
    case failure
    case goOn

    var isElsewhere: Bool {
      switch self {
      case .turn, .call, .take: true
      case .serialization, .failure, .goOn: false
      }
    }
  }

  private var delivery = StreamDelivery<Int, Int>()
  private var random: SeededRandom
  private var pending: [Pending] = []
  private let readers: Set<Int>
  private let isInline: Set<Int>
  /// Per handler, the chunks that it was called with.
  private var called: [[Int]]
  private var failedChunks: Set<Int> = []
  private var chunkCount = 0
  private var firstOfAttempt = 0
  private var isReading = true
  private var isEnding = false
  private var isSettled = false
  private var hasCompleted = false
  private(set) var violations: [String] = []
  private(set) var seen: Set<String> = []
  private(set) var log: [String] = []

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    let count = Int.random(in: 1...3, using: &random)
    var readers: Set<Int> = []
    var inline: Set<Int> = []
    called = []
    for index in 0..<count {
      if Bool.random(using: &random) { inline.insert(index) }
      if Bool.random(using: &random) { readers.insert(index) }
      called.append([])
      _ = delivery.addHandler(isRead: readers.contains(index))
    }
    isInline = inline
    self.readers = readers
  }

  mutating func run() {
    _ = delivery.responseBegins()
    for _ in 0..<80 where !isSettled { step() }
    if Bool.random(using: &random) { checkThatReadingGoesOn() }
    if !isSettled { end() }
    var budget = 2_000
    while !isSettled || !pending.isEmpty, budget > 0 {
      budget -= 1
      if !answer() {
        if isEnding { break }
        end()
      }
    }
    check()
  }

  private mutating func step() {
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<8: arrive()
    case 8..<17: _ = answer()
    case 17: if !isEnding { retry() }
    case 18: if Int.random(in: 0..<4, using: &random) == 0 { settle(early: true) }
    default:
      if let reader = readers.randomElement(using: &random), Bool.random(using: &random) {
        seen.insert("closed")
        note("close \(reader)")
        pending.removeAll { $0 == .take(reader) }
        closed.insert(reader)
        perform(delivery.close(reader), nil)
      }
    }
  }

  private var closed: Set<Int> = []

  private mutating func arrive() {
    guard isReading, !isEnding, !isSettled else { return }
    slice(ofAtMost: 64 << 10)
  }

  /// A piece of what one read brought; after it there may be more, whether reading waits or not.
  private mutating func slice(ofAtMost room: Int) {
    let chunk = chunkCount
    chunkCount += 1
    note("arrive \(chunk)")
    let size = Int.random(in: 1...room, using: &random)
    if let work = delivery.arrived(chunk, size: size) { serialize(work) }
    if delivery.undelivered > 1 << 20 { violations.append("undelivered \(delivery.undelivered)") }
    if delivery.mustPause() {
      seen.insert("paused")
      isReading = false
    }
    let rest = room - max(size, 1 << 10)
    if rest >= 1 << 10, !isReading || Int.random(in: 0..<3, using: &random) == 0 {
      // Handlers on other threads may be done meanwhile; the attempt hears of that after this.
      for _ in 0..<Int.random(in: 0...4, using: &random) { _ = answer(elsewhere: true) }
      if !isReading { seen.insert("more after a pause") }
      slice(ofAtMost: rest)
    }
  }

  private mutating func serialize(_ work: StreamDelivery<Int, Int>.Work) {
    if Bool.random(using: &random) {
      pending.append(.serialization(work.number, chunk: work.chunk, handlers: work.handlers))
    } else {
      serialized(work.number, work.chunk, work.handlers)
    }
  }

  private mutating func serialized(_ number: Int, _ chunk: Int, _ handlers: Int) {
    let values = delivery.isWanted(number) ? Array(repeating: chunk, count: handlers) : []
    let (due, next, actions) = delivery.serialized(values, number)
    for index in due { schedule(index) }
    perform(actions, nil)
    if let next { serialize(next) }
  }

  private mutating func schedule(_ index: Int) {
    if isInline.contains(index) { turn(index) } else { pending.append(.turn(index)) }
  }

  private mutating func turn(_ index: Int) {
    guard let call = delivery.begin(index) else { return }
    note("call \(index) with \(call.value)")
    if hasCompleted { violations.append("a call after the completion") }
    if call.value < firstOfAttempt, !isSettled { violations.append("a call of an earlier attempt begins") }
    called[index].append(call.value)
    if readers.contains(index), !closed.contains(index) { pending.append(.take(index)) }
    if isInline.contains(index) {
      returned(index, call.number)
    } else {
      pending.append(.call(index, chunk: call.number))
    }
  }

  private mutating func returned(_ index: Int, _ number: Int) {
    if Int.random(in: 0..<40, using: &random) == 0, delivery.failed(number) != nil {
      note("\(index) fails")
      seen.insert("failed")
      pending.append(.failure)
    }
    perform(delivery.returned(index), index)
  }

  private mutating func perform(_ actions: StreamDelivery<Int, Int>.Actions, _ index: Int?) {
    if actions.contains(.schedule), let index { schedule(index) }
    if actions.contains(.goOn) { pending.append(.goOn) }
    if actions.contains(.complete) {
      if delivery.calls > 0 { violations.append("completed in a call") }
      hasCompleted = true
    }
  }

  /// Somebody of those who wait answers.
  ///
  /// - Parameter elsewhere: Only of those who don't answer on the loop.
  private mutating func answer(elsewhere: Bool = false) -> Bool {
    let able = pending.indices.filter { !elsewhere || pending[$0].isElsewhere }
    guard let index = able.randomElement(using: &random) else { return false }
    switch pending.remove(at: index) {
    case .serialization(let number, let chunk, let handlers): serialized(number, chunk, handlers)
    case .turn(let index): turn(index)
    case .call(let index, let chunk): returned(index, chunk)
    case .take(let index): perform(delivery.taken(index), nil)
    case .failure:
      // The attempt hears of it, and ends.
      if !isSettled { retry(failed: true) }
    case .goOn:
      isReading = true
      if isEnding { tryToEnd() }
    }
    return true
  }

  private mutating func end() {
    isEnding = true
    tryToEnd()
  }

  private mutating func tryToEnd() {
    let (mayEnd, actions) = delivery.mayEnd()
    perform(actions, nil)
    if mayEnd {
      seen.insert("ended")
      settle(early: false)
    } else {
      seen.insert("waited for calls")
    }
  }

  private mutating func retry(failed: Bool = false) {
    guard !isSettled else { return }
    if !failed {
      guard delivery.owed == 0, !pending.contains(.failure) else { return }
    }
    note("retry")
    seen.insert("retried")
    delivery.attemptIsOver()
    firstOfAttempt = chunkCount
    isEnding = false
    isReading = !delivery.responseBegins()
    if failed, Bool.random(using: &random) { end() }
  }

  private mutating func settle(early: Bool) {
    note("settle")
    if early { seen.insert("settled early") }
    isSettled = true
    _ = delivery.settle()
    if delivery.calls == 0 { hasCompleted = true }
  }

  /// When all who wait have answered, nothing holds reading up.
  private mutating func checkThatReadingGoesOn() {
    while answer() {}
    if !isReading, !isEnding, !isSettled { violations.append("reading waits for ever") }
  }

  private mutating func check() {
    if !isSettled { violations.append("never ended") }
    if !hasCompleted { violations.append("never completed") }
    if delivery.owed != 0 || delivery.calls != 0 { violations.append("owed \(delivery.owed), calls \(delivery.calls)") }
    for (index, chunks) in called.enumerated() where !zip(chunks, chunks.dropFirst()).allSatisfy(<) {
      violations.append("handler \(index) got \(chunks)")
    }
    let isComplete = seen.isDisjoint(with: ["settled early", "failed", "retried", "closed"])
    if isComplete, called.contains(where: { $0 != Array(0..<chunkCount) }) {
      violations.append("not every handler got every chunk: \(called)")
    }
    if delivery.undelivered != 0 { violations.append("undelivered \(delivery.undelivered)") }
  }

  private mutating func note(_ text: String) { log.append(text) }
}
