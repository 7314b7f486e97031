import Dispatch
import Synchronization
import WeirMetrics

/// A collector that stands still until it is let go, and counts how often it was asked.
final class SlowCollector: Collector {
  private let gate = DispatchSemaphore(value: 0)
  private let entered = DispatchSemaphore(value: 0)
  private let calls = Atomic(0)

  let metrics = [CollectedMetric("slow_calls", help: "Calls.", kind: .gauge)]

  var callCount: Int { calls.load(ordering: .sequentiallyConsistent) }

  func collect(into samples: inout CollectedSamples) {
    let call = calls.add(1, ordering: .sequentiallyConsistent).newValue
    entered.signal()
    // Gives up after ten seconds, so that a failed test ends.
    if gate.wait(timeout: .now() + 30) == .success { gate.signal() }
    samples.set("slow_calls", Double(call))
  }

  /// Waits until a page asks; false after ten seconds.
  func waitForCall() -> Bool { entered.wait(timeout: .now() + 30) == .success }

  /// Lets this and all later calls go.
  func open() { gate.signal() }
}
