import Synchronization
package import WeirIO

/// The latest failures, and the slowest requests of the last minutes. Any thread may call it.
package final class RecentRequests: Sendable {
  /// How many of each kind are kept.
  package static let most = 50
  /// How long a slow request is kept at least, in seconds.
  package static let memory = 300.0

  private struct Slow {
    /// The slowest first.
    var requests: [RecentRequest] = []

    mutating func add(_ request: RecentRequest) {
      let place = requests.firstIndex { $0.seconds < request.seconds } ?? requests.count
      requests.insert(request, at: place)
      if requests.count > RecentRequests.most { requests.removeLast() }
    }
  }

  private struct State {
    /// The oldest first; a ring once it is full.
    var failures: [RecentRequest] = []
    var oldest = 0
    /// The slowest requests since `began`, and those of the five minutes before.
    var present = Slow()
    var before = Slow()
    var began = MonotonicTime.now
  }

  private let state = Mutex(State())
  /// A request must take longer than this, in seconds, to be among the slowest; the bits of a `Double`.
  private let threshold = Atomic<UInt64>(0)
  private let hasReader: Atomic<Bool>

  /// - Parameter hasReader: Whether anybody asks for the lists, so that they are kept.
  package init(hasReader: Bool = true) {
    self.hasReader = Atomic(hasReader)
  }

  /// Whether requests are to be noted.
  package var isOn: Bool { hasReader.load(ordering: .relaxed) }

  package func turnOn() { hasReader.store(true, ordering: .relaxed) }

  /// Whether a request that took so long is to be noted by ``noteSlow(_:)``. Takes no lock.
  package func isSlow(_ seconds: Double) -> Bool {
    seconds > Double(bitPattern: threshold.load(ordering: .relaxed))
  }

  package func noteSlow(_ request: RecentRequest) {
    state.withLock { state in
      state.present.add(request)
      let last = state.present.requests.count < Self.most ? 0 : state.present.requests.last?.seconds ?? 0
      threshold.store(last.bitPattern, ordering: .relaxed)
    }
  }

  package func noteFailure(_ request: RecentRequest) {
    state.withLock { state in
      if state.failures.count < Self.most {
        state.failures.append(request)
      } else {
        state.failures[state.oldest] = request
        state.oldest = (state.oldest + 1) % Self.most
      }
    }
  }

  /// The failures, the latest first, and the slow ones, the slowest first.
  package var lists: (failures: [RecentRequest], slowest: [RecentRequest]) {
    state.withLock { state in
      let failures = state.failures[state.oldest...] + state.failures[..<state.oldest]
      let slowest = (state.present.requests + state.before.requests).sorted { $0.seconds > $1.seconds }
      return (failures.reversed(), Array(slowest.prefix(Self.most)))
    }
  }

  /// Forgets slow requests of more than five minutes ago, up to that long later. Called every few seconds.
  package func turn(at now: MonotonicTime) {
    state.withLock { state in
      let age = now.seconds(since: state.began)
      guard age >= Self.memory else { return }
      state.before = age < 2 * Self.memory ? state.present : Slow()
      state.present = Slow()
      state.began = now
      threshold.store(0, ordering: .relaxed)
    }
  }
}
