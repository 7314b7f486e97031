import Synchronization
package import WeirIO

/// The latest failures, and the slowest requests of the last minutes. Any thread may call it.
package final class RecentRequests: Sendable {
  /// How many of each kind are kept.
  package static let most = 50
  /// How long a slow request is kept at least, in seconds.
  package static let memory = 300.0

  private struct State {
    /// The oldest first; a ring once it is full.
    var failures: [RecentRequest] = []
    var oldest = 0
    /// The slowest requests since `began`, and those of the five minutes before. The slowest first.
    var present: [RecentRequest] = []
    var before: [RecentRequest] = []
    var began = MonotonicTime.now
  }

  private let state = Mutex(State())
  /// A request must take longer than this, in seconds, to be among the slowest; the bits of a `Double`.
  private let threshold = Atomic<UInt64>(0)
  private let hasReader = Atomic(false)

  package init() {}

  /// Whether requests are to be noted.
  package var isOn: Bool { hasReader.load(ordering: .relaxed) }

  /// Has requests noted from now on. Called by the reader of the lists.
  package func turnOn() { hasReader.store(true, ordering: .relaxed) }

  /// Whether a request that took so long is to be noted by ``noteSlow(_:)``. Takes no lock.
  package func isSlow(_ seconds: Double) -> Bool {
    seconds > Double(bitPattern: threshold.load(ordering: .relaxed))
  }

  package func noteSlow(_ request: RecentRequest) {
    state.withLock { state in
      let place = state.present.firstIndex { $0.seconds < request.seconds } ?? state.present.count
      state.present.insert(request, at: place)
      if state.present.count > Self.most { state.present.removeLast() }
      let last = state.present.count < Self.most ? 0 : state.present.last?.seconds ?? 0
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
      let slowest = (state.present + state.before).sorted { $0.seconds > $1.seconds }
      return (failures.reversed(), Array(slowest.prefix(Self.most)))
    }
  }

  /// Forgets slow requests of more than five minutes ago, up to that long later. Called every few seconds.
  package func turn(at now: MonotonicTime) {
    state.withLock { state in
      let age = now.seconds(since: state.began)
      guard age >= Self.memory else { return }
      state.before = age < 2 * Self.memory ? state.present : []
      state.present = []
      state.began = now
      threshold.store(0, ordering: .relaxed)
    }
  }
}
