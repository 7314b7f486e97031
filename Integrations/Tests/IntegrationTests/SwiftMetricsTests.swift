import Metrics
import Synchronization
import Testing
import WeirMetrics
import WeirSwiftMetrics

@Suite("swift-metrics") struct SwiftMetricsTests {
  private let registry = Registry(ownMetrics: false)

  private var page: String { registry.text() }

  @Test("Counters, meters and recorders are shown under their normalized names")
  func instruments() {
    let factory = RegistryFactory(registry, buckets: { $0 == "sizes" ? [10, 100] : .default })
    Counter(label: "hb.requests", dimensions: [("http.route", "/a")], factory: factory).increment(by: 2)
    Counter(label: "hb.requests", dimensions: [("http.route", "/a")], factory: factory).increment()
    FloatingPointCounter(label: "work_total", factory: factory).increment(by: 0.5)
    let pool = Meter(label: "db.pool.size", factory: factory)
    pool.set(3)
    pool.increment(by: 1.5)
    Recorder(label: "temperature", aggregate: false, factory: factory).record(21.5)
    Recorder(label: "sizes", factory: factory).record(20)
    #expect(
      page == """
        # HELP db_pool_size db.pool.size, counted by swift-metrics.
        # TYPE db_pool_size gauge
        db_pool_size 4.5
        # HELP hb_requests_total hb.requests, counted by swift-metrics.
        # TYPE hb_requests_total counter
        hb_requests_total{http_route="/a"} 3
        # HELP sizes sizes, counted by swift-metrics.
        # TYPE sizes histogram
        sizes_bucket{le="10.0"} 0
        sizes_bucket{le="100.0"} 1
        sizes_bucket{le="+Inf"} 1
        sizes_sum 20
        sizes_count 1
        # HELP temperature temperature, counted by swift-metrics.
        # TYPE temperature gauge
        temperature 21.5
        # HELP work_total work_total, counted by swift-metrics.
        # TYPE work_total counter
        work_total 0.5

        """)
  }

  @Test("A timer's nanoseconds are shown in seconds", arguments: ["job.duration", "job_duration_seconds"])
  func timers(_ label: String) {
    let factory = RegistryFactory(registry, buckets: { _ in [1, 2] })
    Timer(label: label, factory: factory).recordNanoseconds(1_500_000_000)
    #expect(page.contains("\njob_duration_seconds_bucket{le=\"1.0\"} 0\njob_duration_seconds_bucket{le=\"2.0\"} 1\n"))
    #expect(page.contains("\njob_duration_seconds_sum 1.5\n"))
  }

  @Test("A handler that is destroyed takes its series off the page, and no other")
  func destroy() {
    let factory = RegistryFactory(registry)
    let queues = ["a", "b"].map { Meter(label: "queue", dimensions: [("name", $0)], factory: factory) }
    for queue in queues { queue.set(1) }
    queues.first?.destroy()
    queues.first?.set(2)
    #expect(!page.contains("name=\"a\"") && page.contains("queue{name=\"b\"} 1\n"))
  }

  @Test("Names that can't be shown count into nothing, and are told of once")
  func problems() throws {
    let told = Mutex<[String]>([])
    let factory = RegistryFactory(
      registry, problem: { label, error in told.withLock { $0.append("\(label): \(error.reason)") } })
    for _ in 1...2 {
      Meter(label: "!", factory: factory).set(1)
      Meter(label: "pool.size", factory: factory).set(1)
      Meter(label: "pool_size", factory: factory).set(2)
      Recorder(label: "pool.size", factory: factory).record(2)
      Meter(label: "limit", dimensions: [("__name__", "x"), ("le", "1")], factory: factory).set(1)
    }
    #expect(
      told.withLock { $0 } == [
        "!: invalid_name", "pool_size: name_clash", "pool.size: kind_conflict", "limit: reserved_label",
      ])
    #expect(page.contains("pool_size 1\n") && !page.contains("limit"))
  }
}
