import WeirMetrics

/// Families whose labels are known at run time only. Each function registers one and returns a way to its series by the
/// labels' values.
extension Registry {
  func counters(_ family: Template.Family) throws -> ([String]) -> Counter {
    let (name, help) = (family.name, family.help)
    let label = family.labels.map { Label($0, as: String.self) }
    switch label.count {
    case 0:
      let only = try counter(name, help: help)
      return { _ in only }
    case 1:
      let series = try counter(name, help: help, labels: label[0])
      return { series.with($0[0]) }
    case 2:
      let series = try counter(name, help: help, labels: label[0], label[1])
      return { series.with($0[0], $0[1]) }
    case 3:
      let series = try counter(name, help: help, labels: label[0], label[1], label[2])
      return { series.with($0[0], $0[1], $0[2]) }
    case 4:
      let series = try counter(name, help: help, labels: label[0], label[1], label[2], label[3])
      return { series.with($0[0], $0[1], $0[2], $0[3]) }
    case 5:
      let series = try counter(name, help: help, labels: label[0], label[1], label[2], label[3], label[4])
      return { series.with($0[0], $0[1], $0[2], $0[3], $0[4]) }
    case 6:
      let series = try counter(name, help: help, labels: label[0], label[1], label[2], label[3], label[4], label[5])
      return { series.with($0[0], $0[1], $0[2], $0[3], $0[4], $0[5]) }
    default:
      throw Failure(text: "\(name) has more labels than any metric of weir")
    }
  }

  func gauges(_ family: Template.Family) throws -> ([String]) -> Gauge {
    let (name, help) = (family.name, family.help)
    let label = family.labels.map { Label($0, as: String.self) }
    switch label.count {
    case 0:
      let only = try gauge(name, help: help)
      return { _ in only }
    case 1:
      let series = try gauge(name, help: help, labels: label[0])
      return { series.with($0[0]) }
    case 2:
      let series = try gauge(name, help: help, labels: label[0], label[1])
      return { series.with($0[0], $0[1]) }
    case 3:
      let series = try gauge(name, help: help, labels: label[0], label[1], label[2])
      return { series.with($0[0], $0[1], $0[2]) }
    case 4:
      let series = try gauge(name, help: help, labels: label[0], label[1], label[2], label[3])
      return { series.with($0[0], $0[1], $0[2], $0[3]) }
    case 5:
      let series = try gauge(name, help: help, labels: label[0], label[1], label[2], label[3], label[4])
      return { series.with($0[0], $0[1], $0[2], $0[3], $0[4]) }
    case 6:
      let series = try gauge(name, help: help, labels: label[0], label[1], label[2], label[3], label[4], label[5])
      return { series.with($0[0], $0[1], $0[2], $0[3], $0[4], $0[5]) }
    default:
      throw Failure(text: "\(name) has more labels than any metric of weir")
    }
  }

  func histograms(_ family: Template.Family) throws -> ([String]) -> Histogram {
    let (name, help) = (family.name, family.help)
    let label = family.labels.map { Label($0, as: String.self) }
    let buckets = Buckets(family.series.values.first?.bounds ?? [])
    switch label.count {
    case 0:
      let only = try histogram(name, help: help, buckets: buckets)
      return { _ in only }
    case 1:
      let series = try histogram(name, help: help, buckets: buckets, labels: label[0])
      return { series.with($0[0]) }
    case 2:
      let series = try histogram(name, help: help, buckets: buckets, labels: label[0], label[1])
      return { series.with($0[0], $0[1]) }
    case 3:
      let series = try histogram(name, help: help, buckets: buckets, labels: label[0], label[1], label[2])
      return { series.with($0[0], $0[1], $0[2]) }
    case 4:
      let series = try histogram(name, help: help, buckets: buckets, labels: label[0], label[1], label[2], label[3])
      return { series.with($0[0], $0[1], $0[2], $0[3]) }
    case 5:
      let series = try histogram(
        name, help: help, buckets: buckets, labels: label[0], label[1], label[2], label[3], label[4])
      return { series.with($0[0], $0[1], $0[2], $0[3], $0[4]) }
    case 6:
      let series = try histogram(
        name, help: help, buckets: buckets, labels: label[0], label[1], label[2], label[3], label[4], label[5])
      return { series.with($0[0], $0[1], $0[2], $0[3], $0[4], $0[5]) }
    default:
      throw Failure(text: "\(name) has more labels than any metric of weir")
    }
  }
}
