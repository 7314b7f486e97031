public import CoreMetrics
import Synchronization
public import WeirMetrics

/// Shows on the page of a registry what code counts by swift-metrics:
/// `MetricsSystem.bootstrap(RegistryFactory(registry))`.
///
/// | swift-metrics | Prometheus |
/// |---|---|
/// | counters | a counter, whose name ends in `_total` |
/// | `Meter`, and `Recorder` and `Gauge` that don't aggregate | a gauge |
/// | `Recorder` that aggregates | a histogram |
/// | `Timer` | a histogram in seconds, whose name ends in `_seconds` |
///
/// Names of metrics and dimensions are normalized (`MetricName`): `db.pool.size` is shown as `db_pool_size`. Handlers
/// of one name with equal dimensions count into one series. Destroying one of them takes the series off the page. A
/// counter is not reset: to Prometheus a counter that falls is a restarted process.
///
/// A metric that can't be registered counts into nothing: its name or dimensions are not valid, or its name belongs to
/// another metric. The page counts that as `weir_metrics_registration_errors_total`.
public final class RegistryFactory: MetricsFactory {
  /// A label that can't be shown is told of once, and no more than this many labels are.
  private static let mostProblems = 1_000

  private let registry: Registry
  private let buckets: @Sendable (String) -> Buckets
  private let problem: @Sendable (String, RegistryError) -> Void
  private let told = Mutex<Set<String>>([])

  /// - Parameters:
  ///   - buckets: The buckets of the histogram with this label, in seconds for a timer. Called for each handler; it has
  ///     to answer the same for the same label.
  ///   - problem: Called once for each label that can't be registered, with the reason.
  public init(
    _ registry: Registry, buckets: @escaping @Sendable (_ label: String) -> Buckets = { _ in .default },
    problem: @escaping @Sendable (_ label: String, _ error: RegistryError) -> Void = { _, _ in }
  ) {
    self.registry = registry
    self.buckets = buckets
    self.problem = problem
  }

  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    counter(label, dimensions)
  }

  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    counter(label, dimensions)
  }

  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    gauge(label, dimensions)
  }

  public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    aggregate ? histogram(label, dimensions) : gauge(label, dimensions)
  }

  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    histogram(label, dimensions, unit: "seconds")
  }

  public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { remove(handler) }
  public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
  public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
  public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

  private func counter(_ label: String, _ dimensions: [(String, String)]) -> Handler {
    make(.counter, label, dimensions) { name, help, labels throws(RegistryError) in
      .counter(try registry.counter(name, help: help, labels: labels))
    }
  }

  private func gauge(_ label: String, _ dimensions: [(String, String)]) -> Handler {
    make(.gauge, label, dimensions) { name, help, labels throws(RegistryError) in
      .gauge(try registry.gauge(name, help: help, labels: labels))
    }
  }

  private func histogram(_ label: String, _ dimensions: [(String, String)], unit: String? = nil) -> Handler {
    make(.histogram, label, dimensions, unit: unit) { name, help, labels throws(RegistryError) in
      .histogram(try registry.histogram(name, help: help, buckets: buckets(label), labels: labels))
    }
  }

  private func make(
    _ kind: MetricKind, _ label: String, _ dimensions: [(String, String)], unit: String? = nil,
    by register: (MetricName, _ help: String, _ labels: [String: String]) throws(RegistryError) -> Handler.Instrument
  ) -> Handler {
    let name = MetricName(normalizing: label, kind: kind, unit: unit)
    // Names of labels have no colons.
    let labels = Dictionary(
      dimensions.map { (MetricName(normalizing: $0.replacing(":", with: "_"), kind: .gauge).text, $1) }
    ) { $1 }
    do throws(RegistryError) {
      return Handler(try register(name, "\(label), counted by swift-metrics.", labels), name, labels)
    } catch {
      if told.withLock({ $0.count < Self.mostProblems && $0.insert(label).inserted }) { problem(label, error) }
      return Handler(.nothing, name, labels)
    }
  }

  private func remove(_ handler: AnyObject) {
    guard let handler = handler as? Handler else { return }
    if case .nothing = handler.instrument {} else { registry.remove(handler.name, labels: handler.labels) }
  }
}

/// Counts into one series, or into nothing. A call that its instrument doesn't know does nothing.
private final class Handler: CounterHandler, FloatingPointCounterHandler, MeterHandler, RecorderHandler, TimerHandler {
  enum Instrument {
    case counter(WeirMetrics.Counter)
    case gauge(WeirMetrics.Gauge)
    case histogram(Histogram)
    case nothing
  }

  let instrument: Instrument
  let name: MetricName, labels: [String: String]

  init(_ instrument: Instrument, _ name: MetricName, _ labels: [String: String]) {
    (self.instrument, self.name, self.labels) = (instrument, name, labels)
  }

  func increment(by amount: Int64) {
    if case .counter(let counter) = instrument { counter.increment(by: Int(clamping: amount)) }
  }

  func increment(by amount: Double) {
    if case .counter(let counter) = instrument { counter.increment(by: amount) }
    if case .gauge(let gauge) = instrument { gauge.increment(by: amount) }
  }

  func reset() {}
  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { if case .gauge(let gauge) = instrument { gauge.set(value) } }
  func decrement(by amount: Double) { if case .gauge(let gauge) = instrument { gauge.decrement(by: amount) } }

  func record(_ value: Int64) { record(Double(value)) }
  func record(_ value: Double) {
    set(value)
    if case .histogram(let histogram) = instrument { histogram.observe(value) }
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
