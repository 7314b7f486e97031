/// The description of a registered metric, without its numbers.
package struct RegisteredMetric: Sendable, Equatable {
  package let name: String
  package let help: String
  package let kind: MetricKind
  package let labels: [String]
  /// A histogram's upper bounds, without `+Inf`.
  package let bounds: [Double]

  package init(name: String, help: String, kind: MetricKind, labels: [String], bounds: [Double]) {
    self.name = name
    self.help = help
    self.kind = kind
    self.labels = labels
    self.bounds = bounds
  }
}

extension Registry {
  /// All metrics by name, including those without any series.
  package var metrics: [RegisteredMetric] {
    all().families.map { family in
      let descriptor = family.descriptor
      return RegisteredMetric(
        name: descriptor.name, help: descriptor.help, kind: descriptor.kind, labels: descriptor.labels,
        bounds: descriptor.bounds)
    }
  }
}
