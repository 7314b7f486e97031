import Synchronization
import WeirMetrics
import WeirTransport

// The metrics of load control, of the requests that it refused, and of those whose callers gave up.
extension DestinationMetrics {
  func shed(because reason: ShedReason) { shed[reason]?.increment() }

  func abandoned(in phase: AbandonedPhase) { abandoned[phase]?.increment() }

  func overload(entered state: OverloadState) {
    guard isOne else { return }
    for each in OverloadState.allCases {
      families.overloadState.with(address, port, each.rawValue).set(each == state ? 1 : 0)
    }
  }

  /// Shows the values of load control, and counts what has happened since the last report.
  func overload(_ report: OverloadReport) {
    for result in LimitProbe.allCases where result.count(in: report.probes) > 0 {
      families.limitProbes.with(address, port, result.rawValue).increment(by: result.count(in: report.probes))
    }
    guard isOne else { return }
    overload(entered: report.state)
    families.concurrencyLimit.with(address, port).set(Double(report.limit))
    families.concurrencyUsed.with(address, port).set(Double(report.used))
    show(report.baseline, in: families.baseline, hasBaseline)
    show(report.serviceRate, in: families.serviceRate, hasServiceRate)
  }

  /// Shows a value, or removes its series once it is unknown.
  private func show(_ value: Double?, in family: GaugeFamily<(String, String)>, _ isShown: borrowing Atomic<Bool>) {
    let wasShown = isShown.exchange(value != nil, ordering: .relaxed)
    if let value { family.with(address, port).set(value) } else if wasShown { family.remove(address, port) }
  }
}
