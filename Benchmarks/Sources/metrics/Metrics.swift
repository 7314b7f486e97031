import Dispatch
import Foundation
import WeirExporter
import WeirMetrics

/// The same cases as Baseline/metrics.cpp with WeirMetrics.
///
///     metrics [PAGE]
///
/// With PAGE, the page of the gzip case is left in that file, for the baseline to compress.
@main struct Metrics {
  static let bounds = Buckets([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30])

  static func main() throws {
    try held()
    try native()
    try lookup()
    try scrape(to: CommandLine.arguments.dropFirst().first)
    try scrapeNative()
    try large()
  }

  // MARK: Counting

  private static func held() throws {
    let registry = Registry(ownMetrics: false)
    let counter = try registry.counter("a_total", help: "A.")
    measure("increment", count: 50_000_000, unit: 1e9) { count in
      for _ in 0..<count { counter.increment() }
    }
    let histogram = try registry.histogram("c_seconds", help: "C.", buckets: bounds)
    let values = (0..<16).map { 0.003 * Double(1 << $0) }
    measure("observe", count: 30_000_000, unit: 1e9) { count in
      for index in 0..<count { histogram.observe(values[index & 15]) }
    }
    measure("contention", count: 40_000_000, unit: 1e9) { count in
      DispatchQueue.concurrentPerform(iterations: 2) { _ in
        for _ in 0..<(count / 2) { counter.increment() }
      }
    }
  }

  /// A histogram with classic buckets and native ones.
  private static func native() throws {
    let registry = Registry(ownMetrics: false, nativeHistograms: .all)
    let histogram = try registry.histogram("c_seconds", help: "C.", buckets: bounds)
    let values = (0..<16).map { 0.003 * Double(1 << $0) }
    measure("observe-native", count: 30_000_000, unit: 1e9) { count in
      for index in 0..<count { histogram.observe(values[index & 15]) }
    }
  }

  private static func lookup() throws {
    let registry = Registry(ownMetrics: false)
    let family = try registry.counter("b_total", help: "B.", labels: "method", "route", "code")
    let methods = ["GET", "PUT", "POST", "DELETE"]
    let codes = ["200", "201", "404", "503"]
    let routes = (0..<4).map { "/api/v1/items/\($0)" }
    measure("lookup", count: 20_000_000, unit: 1e9) { count in
      for index in 0..<count {
        family.with(methods[index & 3], routes[index >> 2 & 3], codes[index >> 4 & 3]).increment()
      }
    }
  }

  // MARK: Pages

  /// A registry with 1,000 label sets of a histogram and of two counters.
  private static func filled(_ nativeHistograms: NativeHistograms = .none) throws -> Registry {
    let registry = Registry(ownMetrics: false, nativeHistograms: nativeHistograms)
    let durations = try registry.histogram(
      "request_duration_seconds", help: "Duration.", buckets: bounds, labels: "route", "method")
    let requests = try registry.counter("requests_total", help: "Requests.", labels: "route", "method")
    let failures = try registry.counter("failures_total", help: "Failures.", labels: "route", "method")
    for index in 0..<1000 {
      let route = "/api/v1/items/\(index)"
      let duration = durations.with(route, "GET")
      for step in 0..<100 { duration.observe(0.003 * Double((index + step * 37) % 9973)) }
      requests.with(route, "GET").increment(by: index)
      _ = failures.with(route, "GET")
    }
    return registry
  }

  private static func scrape(to file: String?) throws {
    let registry = try filled()
    try registry.text().write(toFile: file ?? "/dev/null", atomically: false, encoding: .utf8)
    page("scrape", of: registry)
    page("scrape-protobuf", of: registry, .protobuf)
    try compressed(registry)
  }

  private static func scrapeNative() throws {
    let before = residentBytes()
    let registry = try filled(.all)
    print("bytes-per-native\t\((residentBytes() - before) / 1000)")
    page("scrape-native", of: registry, .protobuf)
  }

  /// The time of a page, and its bytes.
  private static func page(_ name: String, of registry: Registry, _ format: Exposition.Format = .text) {
    var page = ExpositionPage()
    registry.write(Exposition(format), to: &page)
    print("\(name)-bytes\t\(page.withBytes { $0.count })")
    measure(name, count: 100, unit: 1e3) { count in
      for _ in 0..<count {
        page.removeAll()
        registry.write(Exposition(format), to: &page)
      }
    }
  }

  /// Over HTTP, with the cost at both ends.
  private static func compressed(_ registry: Registry) throws {
    var options = Exporter.Options()
    options.registersProcessMetrics = false
    let exporter = try Exporter(registry: registry, listenAddress: "127.0.0.1:0", options: options).start()
    defer { exporter.stop(grace: 0) }
    let scraper = try Scraper(address: exporter.address ?? "")
    for _ in 0..<5 { try scraper.scrape() }
    try measure("gzip", count: 50, unit: 1e3) { count in
      for _ in 0..<count { try scraper.scrape() }
    }
  }

  private static func large() throws {
    let registry = Registry(ownMetrics: false)
    let users = try registry.counter("users_total", help: "Users.", seriesLimit: 100_000, labels: "user")
    let names = (0..<100_000).map { "user-\($0)" }
    let before = residentBytes()
    measure("register", count: names.count, unit: 1e9) { count in
      for index in 0..<count { users.with(names[index]).increment(by: index) }
    }
    print("bytes-per-series\t\((residentBytes() - before) / names.count)")
    var page = ExpositionPage()
    registry.write(to: &page)
    measure("large", count: 50, unit: 1e3) { count in
      for _ in 0..<count {
        page.removeAll()
        registry.write(to: &page)
      }
    }
  }

  // MARK: Measuring

  /// Prints the processor time of all threads per operation.
  private static func measure(
    _ name: String, count: Int, unit: Double, _ body: (Int) throws -> Void
  ) rethrows {
    let began = cpuSeconds()
    try body(count)
    print("\(name)\t\(String(format: "%.3f", (cpuSeconds() - began) / Double(count) * unit))")
  }

  private static func cpuSeconds() -> Double {
    var now = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)
    return Double(now.tv_sec) + Double(now.tv_nsec) * 1e-9
  }

  private static func residentBytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}
