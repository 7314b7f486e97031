import Synchronization
import Testing

@testable import WeirMetrics

@Suite struct CollectorTests {
  final class Pool: Collector {
    let calls = Atomic<Int>(0)
    let metrics = [
      CollectedMetric("pool_size", help: "Size.", kind: .gauge, labels: ["pool"]),
      CollectedMetric("pool_made_total", help: "Made.", kind: .counter),
    ]

    func collect(into samples: inout CollectedSamples) {
      calls.add(1, ordering: .relaxed)
      samples.set("pool_size", 2, labels: ["b\n"])
      samples.set("pool_size", .nan, labels: ["a"])
      samples.set("pool_size", 1, labels: ["a"])
      samples.set("pool_made_total", 7)
    }
  }

  @Test func isAskedAtTheScrape() throws {
    let registry = Registry(ownMetrics: false)
    let pool = Pool()
    try registry.register(pool)
    #expect(pool.calls.load(ordering: .relaxed) == 0)
    #expect(
      registry.text() == """
        # HELP pool_made_total Made.
        # TYPE pool_made_total counter
        pool_made_total 7
        # HELP pool_size Size.
        # TYPE pool_size gauge
        pool_size{pool="a"} 1
        pool_size{pool="b\\n"} 2

        """)
    #expect(registry.text(Exposition(only: ["other"])) == "")
    #expect(pool.calls.load(ordering: .relaxed) == 1)
  }

  @Test func isAskedForWhatIsLeft() throws {
    let registry = Registry(ownMetrics: false)
    let pool = Pool()
    try registry.register(pool)
    registry.unregister("pool_size")
    #expect(registry.text() == "# HELP pool_made_total Made.\n# TYPE pool_made_total counter\npool_made_total 7\n")
    registry.unregister("pool_made_total")
    #expect(registry.text() == "")
    #expect(pool.calls.load(ordering: .relaxed) == 1)
  }

  /// A collector may own other metrics of the registry.
  @Test(.timeLimit(.minutes(5))) func mayUseTheRegistryAsItEnds() throws {
    final class Owner: Collector {
      let registry: Registry
      let metrics = [CollectedMetric("owned", help: "", kind: .gauge)]

      init(_ registry: Registry) { self.registry = registry }

      deinit { registry.unregister("other") }

      func collect(into samples: inout CollectedSamples) { samples.set("owned", 1) }
    }
    let registry = Registry(ownMetrics: false)
    try registry.gauge("other", help: "").set(1)
    try registry.register(Owner(registry))
    #expect(registry.unregister("owned"))
    #expect(registry.text() == "")
  }

  @Test func ignoresWhatDoesNotFit() throws {
    struct Wrong: Collector {
      let metrics = [
        CollectedMetric("g", help: "", kind: .gauge, labels: ["x"]),
        CollectedMetric("c_total", help: "", kind: .counter),
      ]
      func collect(into samples: inout CollectedSamples) {
        samples.set("unknown", 1)
        samples.set("g", 1)
        samples.set("g", 1, labels: ["a", "b"])
        samples.set("c_total", -1)
        samples.set("c_total", .nan)
        for value in 0..<10 { samples.set("g", 1, labels: ["\(value)"]) }
      }
    }
    let registry = Registry(seriesLimit: 2, ownMetrics: false)
    try registry.register(Wrong())
    #expect(registry.text() == "# TYPE g gauge\ng{x=\"0\"} 1\ng{x=\"1\"} 1\n")
  }

  @Test func callbacks() throws {
    let registry = Registry(ownMetrics: false)
    let value = Mutex<Double?>(1.5)
    try registry.gauge("depth", help: "") { value.withLock { $0 } }
    try registry.counter("seen_total", help: "") { 3 }
    #expect(registry.text() == "# TYPE depth gauge\ndepth 1.5\n# TYPE seen_total counter\nseen_total 3\n")
    value.withLock { $0 = nil }
    #expect(registry.text() == "# TYPE seen_total counter\nseen_total 3\n")
  }
}
