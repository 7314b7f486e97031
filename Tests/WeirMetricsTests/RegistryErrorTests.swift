import Testing

@testable import WeirMetrics

@Suite struct RegistryErrorTests {
  let registry = Registry()

  @Test(arguments: ["", "1a", "a b", "a-b", "a\n", "é", "a{", "a\"", "a\0", "{x=\"y\"} 1\nz"])
  func names(name: String) {
    #expect(throws: RegistryError.invalidName(metric: name)) { try registry.counter(name, help: "") }
    #expect(throws: RegistryError.invalidName(metric: name)) { try registry.gauge(name, help: "") { 1 } }
    #expect(throws: RegistryError.invalidName(metric: name + "_info")) {
      try registry.info(name.isEmpty ? "_info" : name + "_info", help: "", labels: [:])
    }
    #expect(registry.text().contains("weir_metrics_registration_errors_total{reason=\"invalid_name\"} 3\n"))
  }

  @Test(arguments: ["a", "_", ":", "a:b_C9", "A"])
  func validNames(name: String) throws {
    try registry.gauge(name, help: "").set(1)
    #expect(registry.text().contains("\n\(name) 1\n") || registry.text().contains("# TYPE \(name) gauge\n\(name) 1\n"))
  }

  @Test(arguments: ["", "1a", "a-b", "a:b", "é", "a=\"b\""])
  func labels(label: String) {
    #expect(throws: RegistryError.invalidLabel(metric: "a", label: label)) {
      try registry.gauge("a", help: "", labels: "x", Label(label, as: String.self))
    }
  }

  @Test(arguments: ["le", "__name__", "__"])
  func reservedLabels(label: String) {
    #expect(throws: RegistryError.reservedLabel(metric: "a", label: label)) {
      try registry.histogram("a", help: "", labels: Label(label, as: String.self))
    }
  }

  @Test func duplicateLabels() {
    #expect(throws: RegistryError.duplicateLabel(metric: "a", label: "x")) {
      try registry.gauge("a", help: "", labels: "x", "y", "x")
    }
  }

  @Test func conflictsOfOneName() throws {
    let first = try registry.histogram("a", help: "h", buckets: [1], labels: "x", "y")
    let again = try registry.histogram("a", help: "h", buckets: [1, .infinity], labels: "x", "y")
    #expect(first.with("1", "2").series === again.with("1", "2").series)
    #expect(throws: RegistryError.kindConflict(metric: "a", registered: .histogram, requested: .gauge)) {
      try registry.gauge("a", help: "h", labels: "x", "y")
    }
    #expect(throws: RegistryError.labelConflict(metric: "a", registered: ["x", "y"], requested: ["y", "x"])) {
      try registry.histogram("a", help: "h", buckets: [1], labels: "y", "x")
    }
    #expect(throws: RegistryError.labelConflict(metric: "a", registered: ["x", "y"], requested: [])) {
      try registry.histogram("a", help: "h", buckets: [1])
    }
    #expect(throws: RegistryError.helpConflict(metric: "a")) {
      try registry.histogram("a", help: "other", buckets: [1], labels: "x", "y")
    }
    #expect(throws: RegistryError.bucketConflict(metric: "a")) {
      try registry.histogram("a", help: "h", buckets: [2], labels: "x", "y")
    }
  }

  @Test func conflictsOfComputedMetrics() throws {
    try registry.gauge("a", help: "") { 1 }
    #expect(throws: RegistryError.alreadyRegistered(metric: "a")) { try registry.gauge("a", help: "") { 2 } }
    #expect(throws: RegistryError.alreadyRegistered(metric: "a")) { try registry.gauge("a", help: "") }
    try registry.gauge("b", help: "").set(1)
    #expect(throws: RegistryError.alreadyRegistered(metric: "b")) { try registry.gauge("b", help: "") { 2 } }
  }

  @Test func infoOnce() throws {
    try registry.info("app_info", help: "", labels: ["version": "1"])
    try registry.info("app_info", help: "", labels: ["version": "1"])
    #expect(throws: RegistryError.labelConflict(metric: "app_info", registered: ["version"], requested: ["v"])) {
      try registry.info("app_info", help: "", labels: ["v": "1"])
    }
    #expect(throws: RegistryError.alreadyRegistered(metric: "app_info")) {
      try registry.info("app_info", help: "", labels: ["version": "2"])
    }
  }

  /// Two metrics that would show the same name in one of the formats.
  @Test(arguments: ["a", "a_count", "a_sum", "a_bucket", "a_created"])
  func clashesWithAHistogram(name: String) throws {
    _ = try registry.histogram("a", help: "")
    let expected: RegistryError =
      name == "a"
      ? .kindConflict(metric: "a", registered: .histogram, requested: .gauge)
      : .nameClash(metric: name, name: name, owner: "a")
    #expect(throws: expected) { try registry.gauge(name, help: "") }
  }

  @Test func clashesOfSuffixes() throws {
    _ = try registry.gauge("b_count", help: "")
    #expect(throws: RegistryError.nameClash(metric: "b", name: "b_count", owner: "b_count")) {
      try registry.histogram("b", help: "")
    }
    _ = try registry.counter("c_total", help: "")
    #expect(throws: RegistryError.nameClash(metric: "c", name: "c", owner: "c_total")) {
      try registry.gauge("c", help: "")
    }
    #expect(throws: RegistryError.nameClash(metric: "c_created", name: "c_created", owner: "c_total")) {
      try registry.gauge("c_created", help: "")
    }
    #expect(throws: RegistryError.nameClash(metric: "c_info", name: "c", owner: "c_total")) {
      try registry.info("c_info", help: "", labels: [:])
    }
    #expect(registry.text().contains("weir_metrics_registration_errors_total{reason=\"name_clash\"} 4\n"))
  }

  /// A registration that fails leaves nothing behind.
  @Test func allOrNothing() throws {
    struct Pair: Collector {
      let metrics = [
        CollectedMetric("fine", help: "", kind: .gauge), CollectedMetric("a_sum", help: "", kind: .gauge),
      ]
      func collect(into samples: inout CollectedSamples) { samples.set("fine", 1) }
    }
    _ = try registry.histogram("a", help: "")
    #expect(throws: RegistryError.nameClash(metric: "a_sum", name: "a_sum", owner: "a")) {
      try registry.register(Pair())
    }
    #expect(!registry.text().contains("fine"))
    try registry.gauge("fine", help: "").set(1)
  }

  @Test func everyReasonIsListed() {
    let errors: [RegistryError] = [
      .invalidName(metric: ""), .invalidLabel(metric: "", label: ""), .reservedLabel(metric: "", label: ""),
      .duplicateLabel(metric: "", label: ""), .invalidBuckets(metric: "", problem: .empty),
      .kindConflict(metric: "", registered: .gauge, requested: .counter),
      .labelConflict(metric: "", registered: [], requested: []), .helpConflict(metric: ""),
      .bucketConflict(metric: ""), .nameClash(metric: "", name: "", owner: ""), .alreadyRegistered(metric: ""),
    ]
    #expect(errors.map(\.reason).sorted() == RegistryError.reasons)
    #expect(RegistryError.reasons.contains(RegistryError.textLabelConflict(metric: "").reason))
  }
}
