import Synchronization
import WeirIO
package import WeirMetrics

/// The metrics of the export itself.
package final class TelemetryMetrics: Sendable {
  /// How an export has ended. The names are label values.
  enum Result: String, CaseIterable {
    case success, partial, refused, failed
  }

  /// Why spans, or data points, are lost. The names are label values.
  enum Reason: String, CaseIterable {
    case queueFull = "queue_full"
    case refused, failed, rejected, shutdown
  }

  private let exported: CounterFamily<(String, String)>
  private let dropped: CounterFamily<(String, String)>
  private let queues: SpanQueues

  /// Registers the metrics, which are there already if another exporter has done it.
  package init(_ registry: Registry) throws(RegistryError) {
    exported = try registry.counter(
      "weir_telemetry_exported_total",
      help: "Exports of telemetry that ended, with their repeats, by what came of them.",
      labels: "signal", "result")
    dropped = try registry.counter(
      "weir_telemetry_dropped_total", help: "Spans, and data points of metrics, that did not reach the collector.",
      labels: "signal", "reason")
    queues = registry.companion { SpanQueues() }
    if !registry.isRegistered(SpanQueues.name) { try registry.register(queues) }
  }

  /// Makes the series of a signal at zero, so that the first loss is an increase.
  func prepare(_ signal: TelemetrySignal) {
    for result in Result.allCases { _ = exported.with(signal.rawValue, result.rawValue) }
    let reasons = signal == .traces ? Reason.allCases : [.rejected]
    for reason in reasons { _ = dropped.with(signal.rawValue, reason.rawValue) }
  }

  func exported(_ signal: TelemetrySignal, _ result: Result) {
    exported.with(signal.rawValue, result.rawValue).increment()
  }

  func dropped(_ signal: TelemetrySignal, _ reason: Reason) -> Counter {
    dropped.with(signal.rawValue, reason.rawValue)
  }

  func show(_ queue: SpanQueue) { queues.add(queue) }
}

/// Shows how many spans the exporters of a registry keep.
private final class SpanQueues: Collector {
  static let name = "weir_telemetry_queue"

  private struct Known {
    weak var queue: SpanQueue?
  }

  private let queues = Mutex<[Known]>([])

  var metrics: [CollectedMetric] {
    [CollectedMetric(Self.name, help: "Spans that wait for an export, or are being exported.", kind: .gauge)]
  }

  func add(_ queue: SpanQueue) {
    queues.withLock { queues in
      queues.removeAll { $0.queue == nil }
      queues.append(Known(queue: queue))
    }
  }

  func collect(into samples: inout CollectedSamples) {
    let present = queues.withLock { $0.compactMap(\.queue) }
    if !present.isEmpty { samples.set(Self.name, Double(present.reduce(0) { $0 + $1.count })) }
  }
}

/// A remark of the exporter for the log.
package struct TelemetryNotice: Sendable, Equatable {
  package enum Kind: Sendable, Hashable, CaseIterable {
    /// An export failed, or was refused or taken in part. The text says why.
    case trouble
    /// The collector has taken a message, and says something of it. The text is the collector's.
    case remark
    /// Exports succeed again.
    case recovered
    /// Spans were lost; the text says why.
    case dropped
  }

  package let signal: TelemetrySignal
  package let kind: Kind
  package let text: String
  /// How many spans or data points; for trouble, how many exports. Those without a line of their own are among them.
  package let count: Int
}

/// Decides which remarks are made: of each kind one in a minute at most. A value.
struct TelemetryNotices {
  /// Seconds between two of a kind.
  static let interval = 60.0

  private struct Waiting {
    var count = 0
    var quietUntil = MonotonicTime(nanoseconds: 0)
  }

  private let signal: TelemetrySignal
  private var waiting: [TelemetryNotice.Kind: Waiting] = [:]
  private var isInTrouble = false

  init(_ signal: TelemetrySignal) { self.signal = signal }

  /// Something has happened. Returns the remark, if it is due.
  mutating func note(
    _ kind: TelemetryNotice.Kind, _ count: Int, _ text: String, at now: MonotonicTime
  ) -> TelemetryNotice? {
    guard count > 0 else { return nil }
    if kind == .trouble { isInTrouble = true }
    var known = waiting[kind, default: Waiting()]
    known.count += count
    defer { waiting[kind] = known }
    guard now >= known.quietUntil else { return nil }
    defer { known = Waiting(quietUntil: now.advanced(bySeconds: Self.interval)) }
    return TelemetryNotice(signal: signal, kind: kind, text: text, count: known.count)
  }

  /// An export has succeeded.
  mutating func recovered(at now: MonotonicTime) -> TelemetryNotice? {
    guard isInTrouble else { return nil }
    isInTrouble = false
    return note(.recovered, 1, "the collector takes telemetry again", at: now)
  }
}
