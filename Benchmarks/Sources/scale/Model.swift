import WeirMetrics

/// A target's registry, with the families of a template, and how its counts move. Equal seeds move equally.
struct Model {
  /// Seconds within which the template's counts are taken to have come to be.
  static let templateSeconds = 60.0
  /// Gauges that say when something was or will be, and how much there may be.
  static let constant = ["_timestamp_seconds", "_start_time_seconds", "_not_after_seconds", "_max_fds"]

  let registry = Registry(seriesLimit: 100_000, ownMetrics: false)
  private var random: Random
  private var counters: [(series: Counter, rate: Double, whole: Bool, due: Double)] = []
  private var gauges: [(series: Gauge, mean: Double)] = []
  private var histograms: [(series: Histogram, template: Template.Series, due: Double)] = []

  init(_ template: Template, seed: UInt64) throws {
    random = Random(state: seed)
    for family in template.families { try add(family) }
  }

  private mutating func add(_ family: Template.Family) throws {
    let moves = !Self.constant.contains { family.name.hasSuffix($0) }
    switch family.kind {
    case .counter:
      let make = try registry.counters(family)
      for (values, series) in family.series {
        let whole = series.value == series.value.rounded()
        counters.append((make(values), series.value / Self.templateSeconds, whole, 0))
      }
    case .gauge:
      let make = try registry.gauges(family)
      for (values, series) in family.series {
        let gauge = make(values)
        gauge.set(series.value)
        // Zeros and ones are states.
        if moves, series.value.magnitude != 0, series.value != 1 { gauges.append((gauge, series.value)) }
      }
    case .histogram:
      let make = try registry.histograms(family)
      for (values, series) in family.series { histograms.append((make(values), series, 0)) }
    }
  }

  /// Moves all counts as in so many seconds, each with half to three halves of its usual speed.
  mutating func advance(by seconds: Double) {
    for index in counters.indices {
      counters[index].due += counters[index].rate * seconds * random.next(in: 0.5...1.5)
      let due = counters[index].whole ? counters[index].due.rounded(.down) : counters[index].due
      guard due > 0 else { continue }
      counters[index].series.increment(by: due)
      counters[index].due -= due
    }
    for gauge in gauges {
      let value = gauge.mean * random.next(in: 0.9...1.1)
      gauge.series.set(gauge.mean == gauge.mean.rounded() ? value.rounded() : value)
    }
    for index in histograms.indices {
      let template = histograms[index].template
      histograms[index].due += template.value / Self.templateSeconds * seconds * random.next(in: 0.5...1.5)
      while histograms[index].due >= 1 {
        histograms[index].series.observe(value(like: template))
        histograms[index].due -= 1
      }
    }
  }

  /// A value in one of the template's buckets, as often in each as the template's values are.
  private mutating func value(like template: Template.Series) -> Double {
    let position = random.next(in: 0...template.value)
    guard let bucket = template.counts.firstIndex(where: { $0 >= position }) else {
      return 2 * (template.bounds.last ?? 1)
    }
    let lower = bucket > 0 ? template.bounds[bucket - 1] : 0
    return random.next(in: lower...max(lower, template.bounds[bucket]))
  }
}

/// SplitMix64.
struct Random {
  var state: UInt64

  mutating func next(in range: ClosedRange<Double>) -> Double {
    state &+= 0x9e37_79b9_7f4a_7c15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
    bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
    bits ^= bits >> 31
    return range.lowerBound + (range.upperBound - range.lowerBound) * Double(bits >> 11) * 0x1p-53
  }
}
