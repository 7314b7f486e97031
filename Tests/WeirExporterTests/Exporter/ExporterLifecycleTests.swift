import Dispatch
import Synchronization
import Testing
import Weir
import WeirExporter
import WeirMetrics
import WeirTestSupport

@Suite struct ExporterLifecycleTests {
  private func make(
    _ address: String = "127.0.0.1:0", _ registry: Registry = Registry(),
    _ change: (inout Exporter.Options) -> Void = { _ in }
  ) throws(ExporterError) -> Exporter {
    var options = Exporter.Options()
    change(&options)
    return try Exporter(registry: registry, listenAddress: address, options: options)
  }

  @Test func startAndStop() async throws {
    let exporter = try make()
    #expect(exporter.address == nil)
    try exporter.start()
    let address = try #require(exporter.address)
    #expect(address.hasPrefix("127.0.0.1:") && !address.hasSuffix(":0"))
    #expect(try PageClient.get(address)?.status == 200)
    await exporter.stop(grace: 1)
    #expect(exporter.address == nil)
    #expect(throws: (any Error).self) { try PageClient(address) }
    await exporter.stop(grace: 1)
  }

  @Test func startsAgainAtItsAddress() throws {
    let port = try { () throws in
      let first = try make().start()
      defer { first.stop(grace: 0) }
      return try #require(first.address)
    }()
    let exporter = try make(port)
    for _ in 0..<5 {
      try exporter.start()
      #expect(exporter.address == port)
      #expect(try PageClient.get(port)?.status == 200)
      exporter.stop(grace: 1)
    }
  }

  @Test func onAUnixSocket() throws {
    let path = "unix:/tmp/weir-exporter-\(UInt32.random(in: 0 ... .max)).sock"
    let exporter = try make(path)
    for _ in 0..<5 {
      try exporter.start()
      #expect(exporter.address == path)
      #expect(try PageClient.get(path)?.status == 200)
      exporter.stop(grace: 1)
      #expect(throws: (any Error).self) { try PageClient(path) }
    }
  }

  @Test func runsOnWhenNobodyHoldsIt() throws {
    weak var exporter: Exporter?
    let address: String?
    do {
      let started = try make().start()
      exporter = started
      address = started.address
    }
    #expect(try PageClient.get(address, "/-/healthy")?.status == 200)
    exporter?.stop(grace: 0)
    #expect(exporter == nil)
  }

  @Test func stoppingLetsAScrapeEnd() async throws {
    let registry = Registry()
    let collector = SlowCollector()
    try registry.register(collector)
    let exporter = try make("127.0.0.1:0", registry).start()
    let client = try PageClient(exporter.address)
    client.request("GET", "/metrics")
    #expect(collector.waitForCall())
    async let stopped: Void = exporter.stop(grace: 10)
    collector.open()
    let response = try #require(client.response())
    #expect(response.status == 200)
    await stopped
    #expect(client.response() == nil)
  }

  @Test(arguments: [false, true]) func runsUntilItsTaskIsCancelled(wasStarted: Bool) async throws {
    let registry = Registry()
    let collector = SlowCollector()
    try registry.register(collector)
    let exporter = try make("127.0.0.1:0", registry)
    if wasStarted { try exporter.start() }
    let running = Task { try await exporter.run(gracePeriod: .seconds(10)) }
    try await eventually("the exporter runs") { exporter.address != nil }
    let client = try PageClient(exporter.address)
    client.request("GET", "/metrics")
    #expect(collector.waitForCall())
    running.cancel()
    try await eventually("the exporter is being stopped") { exporter.address == nil }
    collector.open()
    #expect(client.response()?.status == 200)
    try await running.value
  }

  @Test func aRunThatCannotListenThrows() async throws {
    let first = try make().start()
    defer { first.stop(grace: 0) }
    let second = try make(try #require(first.address))
    let error = await #expect(throws: ExporterError.self) { try await second.run(gracePeriod: .zero) }
    #expect(error?.code == .addressInUse)
  }

  /// Their connections are made and their requests sent, though the loop has not come round to them.
  @Test func stoppingAnswersWhoWaitsToBeAccepted() async throws {
    let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let exporter = try make {
      $0.isReady = {
        entered.signal()
        gate.wait()
        return true
      }
    }
    try exporter.start()
    let address = exporter.address
    let holdingUp = try PageClient(address)
    holdingUp.request("GET", "/-/ready")
    #expect(entered.wait(timeout: .now() + 30) == .success)
    let waiting = try (0..<20).map { _ in try PageClient(address) }
    for client in waiting { client.request("GET", "/metrics") }
    async let stopped: Void = exporter.stop(grace: 10)
    try await eventually("the exporter is being stopped") { exporter.address == nil }
    gate.signal()
    #expect(holdingUp.response()?.status == 200)
    for client in waiting {
      let response = client.response()
      #expect(response?.status == 200 && response?.fields["connection"] == "close")
    }
    await stopped
  }

  @Test func stoppingDoesNotWaitForAHungCollector() throws {
    let registry = Registry()
    let collector = SlowCollector()
    try registry.register(collector)
    let exporter = try make("127.0.0.1:0", registry).start()
    let client = try PageClient(exporter.address)
    client.request("GET", "/metrics")
    #expect(collector.waitForCall())
    exporter.stop(grace: 0.05)
    #expect(client.response() == nil)
    collector.open()
  }

  @Test func readinessIsTheUsers() throws {
    let isReady = Flag()
    let exporter = try make { $0.isReady = { isReady.value.load(ordering: .relaxed) } }.start()
    defer { exporter.stop(grace: 0) }
    let response = try #require(try PageClient.get(exporter.address, "/-/ready"))
    #expect(response.status == 503)
    #expect(response.text == "not ready\n")
    isReady.value.store(true, ordering: .relaxed)
    #expect(try PageClient.get(exporter.address, "/-/ready")?.status == 200)
    #expect(try PageClient.get(exporter.address, "/-/healthy")?.status == 200)
  }

  @Test func userCodeMayStopIt() throws {
    let holder = Holder()
    let exporter = try make {
      $0.isReady = {
        holder.exporter.withLock { $0 }?.stop(grace: 1)
        return true
      }
    }
    holder.exporter.withLock { $0 = exporter }
    try exporter.start()
    let address = exporter.address
    #expect(try PageClient.get(address, "/-/ready")?.status == 200)
    #expect(exporter.address == nil)
    holder.exporter.withLock { $0 = nil }
  }

  @Test func severalExportersMayShowOneRegistry() async throws {
    let registry = Registry()
    let first = try make("127.0.0.1:0", registry).start()
    let second = try make("127.0.0.1:0", registry).start()
    defer {
      first.stop(grace: 0)
      second.stop(grace: 0)
    }
    #expect(first.registry === second.registry)
    #expect(try PageClient.get(first.address)?.status == 200)
    try await eventually("the sent page is counted") {
      registry.text().contains("weir_scrapes_total{code=\"200\"} 1\n")
    }
    let page = try #require(try PageClient.get(second.address)).text
    #expect(page.contains("weir_scrapes_total{code=\"200\"} 1\n"))
    #expect(page.contains("\nprocess_cpu_seconds_total "))
    #expect(page.contains("weir_build_info{version=\"\(WeirInfo.version)\""))
    #expect(page.contains("weir_metrics_registration_errors_total{reason=\"already_registered\"} 0\n"))
  }

  @Test func processMetricsOfTheUsersOwnStay() throws {
    let registry = Registry()
    try registry.gauge("process_threads", help: "Mine.").set(7)
    _ = try make("127.0.0.1:0", registry)
    #expect(registry.text().contains("# HELP process_threads Mine.\n"))
    #expect(registry.text().contains("\nweir_build_info{"))
    let bare = Registry()
    _ = try make("127.0.0.1:0", bare) { $0.registersProcessMetrics = false }
    #expect(!bare.text().contains("process_"))
    #expect(!bare.text().contains("weir_build_info"))
  }
}

private final class Flag: Sendable {
  let value = Atomic(false)
}

private final class Holder: Sendable {
  let exporter = Mutex<Exporter?>(nil)
}
