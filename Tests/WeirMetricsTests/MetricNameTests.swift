import Testing

@testable import WeirMetrics

@Suite struct MetricNameTests {
  /// As Prometheus names metrics that it receives by OTLP.
  @Test(
    arguments: [
      ("db.pool.size", .gauge, nil, "db_pool_size"), ("db.pool.size", .counter, nil, "db_pool_size_total"),
      ("http.server.request.duration", .histogram, "seconds", "http_server_request_duration_seconds"),
      ("http_request_duration_seconds", .histogram, "seconds", "http_request_duration_seconds"),
      ("io", .counter, "bytes", "io_bytes_total"), ("io.bytes.total", .counter, "bytes", "io_bytes_total"),
      ("total.requests", .counter, nil, "requests_total"), ("total.requests", .gauge, nil, "total_requests"),
      ("requests_total", .counter, nil, "requests_total"), ("a..b__c", .gauge, nil, "a_b_c"),
      ("__a-b__", .gauge, nil, "a_b"), ("a:b", .gauge, nil, "a:b"), ("5xx", .gauge, nil, "_5xx"),
      ("größe", .gauge, nil, "gr_e"), ("a\n{}", .gauge, nil, "a"), ("ABC", .gauge, nil, "ABC"),
      ("a", .gauge, "per second", "a_per_second"), ("a", .gauge, "", "a"), ("é", .gauge, nil, ""),
      ("", .gauge, nil, ""),
    ] as [(String, MetricKind, String?, String)])
  func normalizing(source: String, kind: MetricKind, unit: String?, text: String) {
    let name = MetricName(normalizing: source, kind: kind, unit: unit)
    #expect(name.text == text)
    #expect(name.source == source)
  }

  @Test func instruments() throws {
    let registry = Registry(ownMetrics: false)
    try registry.counter(MetricName(normalizing: "a.b", kind: .counter), help: "", labels: [:]).increment()
    try registry.gauge(MetricName(normalizing: "c.d", kind: .gauge), help: "", labels: [:]).set(1)
    try registry.histogram(MetricName(normalizing: "e.f", kind: .histogram, unit: "seconds"), help: "", labels: [:])
      .observe(1)
    #expect(registry.metrics.map(\.name) == ["a_b_total", "c_d", "e_f_seconds"])
  }

  /// Two names that become one are refused, with both of them.
  @Test func collisions() throws {
    let registry = Registry()
    let (first, second) = (
      MetricName(normalizing: "db.pool.size", kind: .gauge), MetricName(normalizing: "db.pool_size", kind: .gauge)
    )
    try registry.gauge(first, help: "", labels: [:]).set(1)
    let clash = RegistryError.nameClash(metric: "db.pool_size", name: "db_pool_size", owner: "db.pool.size")
    #expect(throws: clash) { try registry.gauge(second, help: "", labels: [:]) }
    #expect(clash.description == "db.pool_size would show db_pool_size, which belongs to db.pool.size")
    #expect(throws: RegistryError.nameClash(metric: "db_pool_size", name: "db_pool_size", owner: "db.pool.size")) {
      try registry.gauge("db_pool_size", help: "", labels: [:])
    }
    #expect(throws: RegistryError.nameClash(metric: "db_pool_size", name: "db_pool_size", owner: "db.pool.size")) {
      try registry.gauge("db_pool_size", help: "", labels: "x")
    }
    try registry.gauge(first, help: "", labels: ["x": "1"]).set(1)
    _ = try registry.histogram(MetricName(normalizing: "db.pool", kind: .histogram), help: "", labels: [:])
    #expect(throws: RegistryError.nameClash(metric: "db.pool.count", name: "db_pool_count", owner: "db.pool")) {
      try registry.gauge(MetricName(normalizing: "db.pool.count", kind: .gauge), help: "", labels: [:])
    }
    #expect(throws: RegistryError.invalidName(metric: "é")) {
      try registry.gauge(MetricName(normalizing: "é", kind: .gauge), help: "", labels: [:])
    }
    #expect(registry.text().contains("weir_metrics_registration_errors_total{reason=\"name_clash\"} 4\n"))
  }
}
