/// Computes metrics at each scrape instead of keeping them up to date: numbers from the kernel, a pool's size.
public protocol Collector: Sendable {
  /// The metrics that `collect` may set. Read once, when the collector is registered.
  var metrics: [CollectedMetric] { get }

  /// Called for every page that shows one of the metrics, on the thread that writes the page and under no lock. Two
  /// scrapes may call it at the same time. A metric without samples is left off the page.
  func collect(into samples: inout CollectedSamples)
}

/// A metric of a ``Collector``.
public struct CollectedMetric: Sendable {
  /// How the values are to be read.
  public enum Kind: Sendable {
    /// The value only grows, and starts again at 0 with the process.
    case counter
    /// The value may go up and down.
    case gauge
  }

  /// `[a-zA-Z_:][a-zA-Z0-9_:]*`; checked when the collector is registered.
  public let name: String
  /// The text of the `# HELP` line.
  public let help: String
  /// The metric's type in the `# TYPE` line.
  public let kind: Kind
  /// The labels' names, in the order in which samples give their values.
  public let labels: [String]
  /// How many label sets are shown; nil for the registry's limit.
  package var seriesLimit: Int?

  /// Makes the description. The names are checked later: ``Registry/register(_:)`` throws for invalid ones.
  public init(_ name: String, help: String, kind: Kind, labels: [String] = []) {
    self.name = name
    self.help = help
    self.kind = kind
    self.labels = labels
  }

  var descriptor: MetricDescriptor {
    MetricDescriptor(name: name, help: help, kind: kind == .counter ? .counter : .gauge, labels: labels)
  }
}

extension Registry {
  /// Adds a collector; its metrics are on pages from now on.
  public func register(_ collector: some Collector) throws(RegistryError) {
    try add(collector.metrics, collector: .collector(collector))
  }

  /// A gauge without labels whose value is read when a page is written. Nil leaves it off that page.
  ///
  /// `read` runs on the thread that writes the page; two scrapes may call it at the same time.
  public func gauge(
    _ name: String, help: String, read: @escaping @Sendable () -> Double?
  ) throws(RegistryError) {
    try register(Callback(metric: CollectedMetric(name, help: help, kind: .gauge), read: read))
  }

  /// A counter without labels whose value is read when a page is written. Nil leaves it off that page.
  ///
  /// `read` runs on the thread that writes the page; two scrapes may call it at the same time.
  public func counter(
    _ name: String, help: String, read: @escaping @Sendable () -> Double?
  ) throws(RegistryError) {
    try register(Callback(metric: CollectedMetric(name, help: help, kind: .counter), read: read))
  }
}

private struct Callback: Collector {
  let metric: CollectedMetric
  let read: @Sendable () -> Double?

  var metrics: [CollectedMetric] { [metric] }

  func collect(into samples: inout CollectedSamples) {
    if let value = read() { samples.set(metric.name, value) }
  }
}
