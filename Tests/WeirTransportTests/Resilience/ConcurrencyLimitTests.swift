import Testing
import WeirTestSupport

@testable import WeirTransport

@Suite("Adaptive concurrency", .timeLimit(.minutes(2))) struct ConcurrencyLimitTests {
  /// A limit after so many windows of the same answers.
  private func slots(
    _ settings: AdaptiveConcurrency = AdaptiveConcurrency(), maximum: Int = 100,
    windows: [(seconds: Double, count: Int)],
    share: Double = 1
  ) -> Int {
    var limit = ConcurrencyLimit(settings, maximum: maximum, at: at(0))
    var now = 0.0
    for window in windows {
      for _ in 0..<window.count {
        now += settings.window / 4.5
        _ = limit.answered(
          after: window.seconds, underWay: Int(Double(limit.slots) * share), settings, at: at(now))
      }
    }
    return limit.slots
  }

  @Test func theDefaults() {
    #expect(AdaptiveConcurrency() == AdaptiveConcurrency(minimum: 4, initial: 20, smoothing: 0.2))
  }

  @Test func itStepsByTheRule() {
    #expect(slots(windows: []) == 20)
    // 20 + 0.2 × √20
    #expect(slots(windows: [(0.01, 5)]) == 20)
    #expect(slots(windows: [(0.01, 10)]) == 21)
    #expect(slots(windows: [(0.01, 1_000)]) == 100, "not above the slots")
    #expect(slots(windows: [(0.01, 5), (0.015, 2_000)]) == 100, "within the tolerance")
    // From 20.89 by a gradient of one half and √20.89: 0.8 × 20.89 + 0.2 × (10.45 + 4.57).
    #expect(slots(windows: [(0.01, 5), (1, 5)]) == 19)
    #expect(slots(windows: [(0.01, 5), (1, 500)]) == 4, "not below the minimum")
    #expect(slots(AdaptiveConcurrency(initial: 1_000), windows: []) == 100)
    #expect(slots(AdaptiveConcurrency(minimum: 30), windows: [(0.01, 5), (1, 500)]) == 30)
    #expect(slots(AdaptiveConcurrency(minimum: 30), maximum: 3, windows: [(0.01, 5), (1, 500)]) == 3)
  }

  @Test func whoDoesNotUseTheLimitDoesNotRaiseIt() {
    #expect(slots(windows: [(0.01, 1_000)], share: 0.4) == 20)
    #expect(slots(windows: [(0.01, 5), (1, 1_000)], share: 0.4) == 20)
  }

  @Test func numbersThatMeanNothing() {
    let settings = AdaptiveConcurrency(
      minimum: -1, initial: -1, tolerance: -1, smoothing: 5, window: -1, baseline: -1)
    #expect((1...100).contains(slots(settings, windows: [(0.01, 50), (1, 50), (0, 50), (-1, 50), (.nan, 50)])))
  }

  @Test func whatIsNoNumberIsTheLeast() {
    let settings = AdaptiveConcurrency(tolerance: .nan, smoothing: .nan, window: .nan, baseline: .nan)
    #expect(settings.boundedTolerance == 1)
    #expect(settings.boundedSmoothing == 0)
    #expect(settings.boundedWindow == 0)
    #expect(settings.boundedBaseline == 1)
    var limit = ConcurrencyLimit(settings, maximum: 100, at: at(0))
    for number in 1...4 {
      _ = limit.answered(after: 0.01 * Double(number), underWay: 20, settings, at: at(0.1 * Double(number)))
    }
    #expect(limit.slots == 20)
  }

  /// A limit after half a minute in which every other question was given up after so many seconds; answers take 0.05.
  private func slots(impatience seconds: Double, answers: Int = .max) -> Int {
    let settings = AdaptiveConcurrency()
    var limit = ConcurrencyLimit(settings, maximum: 100, at: at(0))
    for number in 1...1_500 {
      let inVain = number.isMultiple(of: 2) || number > answers
      _ = limit.answered(
        after: inVain ? seconds : 0.05, inVain: inVain, underWay: limit.slots, settings,
        at: at(Double(number) * 0.1))
    }
    return limit.slots
  }

  @Test func whoWaitsInVainLearnsThatAnswersTakeLonger() {
    #expect(slots(impatience: 0.001) == 100, "less than an answer takes: nothing was learnt")
    #expect(slots(impatience: 1) < 20)
    #expect(slots(impatience: 1, answers: 10) < 20, "also when no answer came for longer than the baseline")
  }

  @Test func aDestinationThatHasBecomeSlowerForGoodIsTakenAsItIs() {
    #expect(slots(windows: [(0.01, 100), (0.1, 60)]) < 30)
    #expect(slots(windows: [(0.01, 100), (0.1, 900)]) == 100)
  }

  /// Answers that take longer than a window: what began under the old limit says nothing of the shortest time.
  @Test func slowAnswersDoNotMakeItDrift() {
    let settings = AdaptiveConcurrency()
    var limit = ConcurrencyLimit(settings, maximum: 512, at: at(0))
    // Ten at a time take a second each; callers use the whole limit.
    var busyUntil = [Double](repeating: 0, count: 10)
    var underWay: [(began: Double, ends: Double)] = []
    var now = 0.0
    while now < 900 {
      now += 0.01
      while let first = underWay.first, first.ends <= now {
        underWay.removeFirst()
        _ = limit.answered(
          after: first.ends - first.began, underWay: underWay.count + 1, settings, at: at(now))
      }
      while underWay.count < limit.slots {
        let server = busyUntil.indices.min { busyUntil[$0] < busyUntil[$1] } ?? 0
        busyUntil[server] = max(now, busyUntil[server]) + 1
        underWay.append((now, busyUntil[server]))
      }
    }
    #expect((10...40).contains(limit.slots), "\(limit.slots)")
  }

  @Test func aDestinationThatIsAlwaysBusyIsMeasuredAnew() {
    let settings = AdaptiveConcurrency(initial: 50, window: 1, baseline: 10)
    var limit = ConcurrencyLimit(settings, maximum: 100, at: at(0))
    var slots: [Int] = []
    for window in 1...14 {
      for answer in 1...5 {
        _ = limit.answered(
          after: 0.1 * Double(limit.slots), underWay: limit.slots, settings,
          at: at(Double(window) - 0.5 + 0.1 * Double(answer) + 0.001 * Double(window)))
      }
      slots.append(limit.slots)
    }
    #expect(slots[8] > 50, "it takes the time of fifty for the shortest")
    #expect(slots[9...10] == [4, 4])
    #expect(slots[11] == slots[8], "what it was goes on")
    #expect(slots[13] < slots[11], "and is known to be too high")
  }

  // MARK: Simulation

  /// A server that answers `capacity` at once in its time and more of them more slowly, asked by as many as the limit lets.
  private struct Server {
    var capacity: Double
    let time: Double

    func seconds(underWay: Int, _ random: inout SeededRandom) -> Double {
      time * max(1, Double(underWay) / capacity) * .random(in: 0.9...1.1, using: &random)
    }
  }

  @Test(arguments: 0..<10) func itFindsTheCapacityAndFindsItAgain(part: UInt64) {
    for seed in part * 100..<part * 100 + 100 {
      var random = SeededRandom(seed: seed)
      var server = Server(
        capacity: .random(in: 10...100, using: &random), time: .random(in: 0.005...0.2, using: &random))
      let settings = AdaptiveConcurrency()
      var limit = ConcurrencyLimit(settings, maximum: 512, at: at(0))
      var now = 0.0
      func run(seconds: Double) {
        let end = now + seconds
        while now < end {
          let answer = server.seconds(underWay: limit.slots, &random)
          // As many come in that time as are under way; at most ten a second of them stand for all.
          now += max(0.1, answer / Double(limit.slots))
          _ = limit.answered(after: answer, underWay: limit.slots, settings, at: at(now))
          if !(4...512).contains(limit.slots) { Issue.record("seed \(seed): \(limit.slots)") }
        }
      }
      let capacity = server.capacity
      run(seconds: 120)
      #expect(Double(limit.slots) > 0.9 * capacity && Double(limit.slots) < 4 * capacity + 10, "seed \(seed)")
      server.capacity = capacity / 8
      run(seconds: 25)
      #expect(Double(limit.slots) < capacity, "seed \(seed): less in a brown-out")
      server.capacity = capacity
      run(seconds: 120)
      #expect(Double(limit.slots) > 0.9 * capacity, "seed \(seed): as much as before after it")
    }
  }
}
