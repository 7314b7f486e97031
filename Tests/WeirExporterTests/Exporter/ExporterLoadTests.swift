import Dispatch
import Testing
import WeirExporter
import WeirIO
import WeirMetrics
import WeirTestSupport

/// Slow collectors, many clients, clients that misbehave.
@Suite(.slow) struct ExporterLoadTests {
  let registry = Registry(ownMetrics: false)
  let collector = SlowCollector()

  private func start(_ change: (inout Exporter.Options) -> Void = { _ in }) throws -> Exporter {
    var options = Exporter.Options()
    options.registersProcessMetrics = false
    change(&options)
    return try Exporter(registry: registry, listenAddress: "127.0.0.1:0", options: options).start()
  }

  /// Asks the landing page until it tells of so many scrapes.
  private func wait(for count: Int, _ state: String = "Waiting", on exporter: Exporter) throws -> Bool {
    let client = try PageClient(exporter.address)
    return eventually {
      client.request("GET", "/")
      return client.response()?.text.contains("<tr><th>\(state)</th><td>\(count)</td></tr>") ?? false
    }
  }

  @Test func scrapesAtTheSameTimeShareOnePage() throws {
    try registry.register(collector)
    let exporter = try start()
    defer { exporter.stop(grace: 0) }
    let first = try PageClient(exporter.address)
    first.request("GET", "/metrics?name[]=slow_calls")
    #expect(collector.waitForCall())
    let others = try (0..<20).map { _ in try PageClient(exporter.address) }
    for other in others { other.request("GET", "/metrics?name[]=slow_calls") }
    #expect(try wait(for: 21, on: exporter))
    collector.open()
    let text = "# HELP slow_calls Calls.\n# TYPE slow_calls gauge\nslow_calls "
    #expect(first.response()?.text == text + "1\n")
    for other in others { #expect(other.response()?.text == text + "2\n") }
    #expect(collector.callCount == 2)
  }

  @Test func aSlowCollectorIsToldOfInTime() throws {
    try registry.register(collector)
    let exporter = try start()
    defer { exporter.stop(grace: 0) }
    let client = try PageClient(exporter.address)
    client.request("GET", "/metrics", [("X-Prometheus-Scrape-Timeout-Seconds", "0.25")])
    let response = try #require(client.response())
    #expect(response.status == 503)
    #expect(response.text == "no page within 0.225 s: a collector is slow, or the scrape timeout is short\n")
    #expect(try PageClient.get(exporter.address, "/-/healthy")?.status == 200, "the loop isn't held up")
    #expect(try PageClient.get(exporter.address, "/metrics?name[]=weir_scrapes_total")?.status == 200)
    collector.open()
    client.request("GET", "/metrics")
    #expect(client.response()?.status == 200)
  }

  @Test func theLimitOfTimeIsOurs() throws {
    try registry.register(collector)
    let exporter = try start { $0.limits.scrapeTimeout = 0.2 }
    defer { exporter.stop(grace: 0) }
    let fields = [("X-Prometheus-Scrape-Timeout-Seconds", "30")]
    #expect(try PageClient.get(exporter.address, "/metrics", fields)?.status == 503)
    collector.open()
  }

  @Test func tooManyScrapesAreRefused() throws {
    try registry.register(collector)
    let exporter = try start { $0.limits.concurrentScrapes = 2 }
    defer { exporter.stop(grace: 0) }
    var waiting = try (0..<2).map { _ in try PageClient(exporter.address) }
    for client in waiting { client.request("GET", "/metrics") }
    #expect(try wait(for: 2, on: exporter))
    let refused = try #require(try PageClient.get(exporter.address))
    #expect(refused.status == 503)
    #expect(refused.fields["retry-after"] == "1")
    #expect(refused.text == "2 scrapes wait already\n")
    waiting.removeLast().reset()
    #expect(try wait(for: 1, on: exporter), "who leaves makes place")
    waiting.append(try PageClient(exporter.address))
    waiting[1].request("GET", "/metrics")
    #expect(try wait(for: 2, on: exporter))
    collector.open()
    for client in waiting { #expect(client.response()?.status == 200) }
  }

  @Test func aScrapeWhileConnectionsHang() throws {
    let exporter = try start()
    defer { exporter.stop(grace: 0) }
    let idle = try (0..<100).map { _ in try PageClient(exporter.address) }
    for (index, client) in idle.enumerated() where index % 2 == 0 { client.send("GET /metrics HTTP/1.1\r\nHo") }
    #expect(try PageClient.get(exporter.address)?.status == 200)
    idle[0].send("st: t\r\n\r\n")
    #expect(idle[0].response()?.status == 200)
  }

  /// A host that blocks every thread of Dispatch's shared queues.
  @Test func aScrapeWhileTheHostBlocksAllSharedThreads() throws {
    let exporter = try start()
    defer { exporter.stop(grace: 0) }
    let (gate, blocked) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let count = 600
    for _ in 0..<count {
      DispatchQueue.global().async {
        blocked.signal()
        gate.wait()
      }
    }
    defer { for _ in 0..<count { gate.signal() } }
    // Dispatch adds a thread per second while its threads are blocked; a job of ours would be the last in its queue.
    #expect(blocked.wait(timeout: .now() + 20) == .success)
    #expect(try PageClient.get(exporter.address)?.status == 200)
  }

  @Test func connectionsBeyondTheLimitAreServed() throws {
    let exporter = try start { $0.limits.connections = 10 }
    defer { exporter.stop(grace: 0) }
    let idle = try (0..<40).map { _ in try PageClient(exporter.address) }
    #expect(try PageClient.get(exporter.address)?.status == 200)
    #expect(idle.count == 40)
  }

  /// Makes pages of some 3 MB; or of 9, more than the kernel takes for a client that doesn't read.
  private func fill(labelSize: Int = 100) throws {
    let family = try registry.counter("large_total", help: "Large.", seriesLimit: 20_000, labels: "number", "text")
    let text = String(repeating: "x", count: labelSize)
    for number in 0..<20_000 { family.with(String(number), text).increment() }
  }

  @Test func aLargePageArrivesWhole() throws {
    try fill()
    let exporter = try start()
    defer { exporter.stop(grace: 0) }
    let client = try PageClient(exporter.address)
    for _ in 0..<2 {
      client.request("GET", "/metrics?name[]=large_total")
      let page = try #require(client.response())
      #expect(page.body.count > 2_500_000)
      let isExact = page.text == registry.text(Exposition(only: ["large_total"]))
      #expect(isExact)
    }
    client.request("HEAD", "/metrics?name[]=large_total")
    #expect(
      client.response(toHead: true)?.fields["content-length"]
        == "\(registry.text(Exposition(only: ["large_total"])).utf8.count)")
  }

  @Test func whoDoesNotReadIsCutOffForWhoDoes() async throws {
    try fill(labelSize: 400)
    let exporter = try start { $0.limits.concurrentScrapes = 2 }
    defer { exporter.stop(grace: 0) }
    let lazy = try (0..<2).map { _ in try PageClient(exporter.address, receiveBuffer: 4096) }
    for (index, client) in lazy.enumerated() {
      client.request("GET", "/metrics")
      #expect(try wait(for: index + 1, "Answered", on: exporter))
    }
    try await eventually("one of them is given up") { try PageClient.get(exporter.address)?.status == 200 }
    let wasCutOff = lazy[0].response() == nil
    #expect(wasCutOff, "who has taken nothing for longest made place")
  }

  /// They may have begun to read a moment ago.
  @Test func whoComesTooManyIsToldSoAndCutsNobodyOff() throws {
    try fill(labelSize: 400)
    let exporter = try start { $0.limits.concurrentScrapes = 2 }
    defer { exporter.stop(grace: 0) }
    let first = try (0..<2).map { _ in try PageClient(exporter.address, receiveBuffer: 4096) }
    for (index, client) in first.enumerated() {
      client.request("GET", "/metrics?name[]=large_total")
      #expect(try wait(for: index + 1, "Answered", on: exporter))
    }
    let refused = try PageClient.get(exporter.address)
    #expect(refused?.status == 503 && refused?.fields["retry-after"] == "1")
    #expect(refused?.text == "2 large pages are on their way already\n")
    for client in first {
      let isWhole = client.response()?.status == 200
      #expect(isWhole)
    }
  }

  /// Fewer connections than scrapes: all would be busy, and nobody left to tell.
  @Test func scrapesLeaveConnectionsToRefuseOthers() throws {
    try registry.register(collector)
    let exporter = try start { $0.limits.connections = 8 }
    defer { exporter.stop(grace: 0) }
    let waiting = try (0..<6).map { _ in try PageClient(exporter.address) }
    for client in waiting { client.request("GET", "/metrics") }
    #expect(try wait(for: 6, on: exporter))
    for _ in 0..<10 { #expect(try PageClient.get(exporter.address)?.status == 503) }
    collector.open()
    for client in waiting { #expect(client.response()?.status == 200) }
  }

  @Test(arguments: [
    (descriptors: 20_000, connections: 512, scrapes: 40, within: (512, 40)),
    (1024, 512, 40, (128, 40)),
    (256, 512, 40, (32, 24)),
    (16, 512, 40, (8, 6)),
    (256, 4, 40, (4, 3)),
    (256, 0, 0, (1, 1)),
  ])
  func limitsWithinTheProcessesOwn(descriptors: Int, connections: Int, scrapes: Int, within: (Int, Int)) {
    var limits = Exporter.Limits()
    limits.connections = connections
    limits.concurrentScrapes = scrapes
    limits = limits.within(descriptors: descriptors)
    #expect(limits.connections == within.0 && limits.concurrentScrapes == within.1)
  }

  @Test func aClientThatLeavesAmidALargePageIsForgotten() throws {
    try fill(labelSize: 400)
    let exporter = try start { $0.limits.concurrentScrapes = 1 }
    defer { exporter.stop(grace: 0) }
    for index in 0..<3 {
      let leaving = try PageClient(exporter.address, receiveBuffer: 4096)
      leaving.request("GET", "/metrics")
      #expect(try wait(for: 2 * index + 1, "Answered", on: exporter))
      leaving.reset()
      let isWhole = try PageClient.get(exporter.address)?.status == 200
      #expect(isWhole)
    }
  }
}
