import Synchronization

/// Numbers of all endpoints of a set together.
final class EndpointTotals: Sendable {
  private let attempts = Atomic<Int>(0)
  private let availableCount = Atomic<Int>(0)
  private let latencySeconds = Atomic<UInt64>(0)
  private let latencyCount = Atomic<Int>(0)

  /// Attempts in flight.
  var active: Int { attempts.load(ordering: .relaxed) }

  func begins() { attempts.wrappingAdd(1, ordering: .relaxed) }

  func leaves() { attempts.wrappingSubtract(1, ordering: .relaxed) }

  /// The number of endpoints that are available.
  var available: Int {
    get { availableCount.load(ordering: .relaxed) }
    set { availableCount.store(newValue, ordering: .relaxed) }
  }

  /// A reader may see the seconds of one moment with the count of another. The mean is off for that moment.
  var latencySum: LatencySum {
    get {
      LatencySum(
        seconds: Double(bitPattern: latencySeconds.load(ordering: .relaxed)),
        count: latencyCount.load(ordering: .relaxed))
    }
    set {
      latencySeconds.store(newValue.seconds.bitPattern, ordering: .relaxed)
      latencyCount.store(newValue.count, ordering: .relaxed)
    }
  }
}
