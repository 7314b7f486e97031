import Logging
import ServiceLifecycle
import Synchronization
import Testing
import Weir
import WeirExporter
import WeirServiceLifecycle

/// Tells that its group runs.
private struct Begun: Service {
  let stream = AsyncStream<Void>.makeStream()

  func run() async throws {
    stream.continuation.finish()
    await cancelWhenGracefulShutdown { for await _ in AsyncStream<Void>.makeStream().stream {} }
  }
}

@Suite("swift-service-lifecycle") struct LifecycleTests {
  @Test("Graceful shutdown lets the request end, and only then takes the page away")
  func shutdown() async throws {
    let exporter = try Exporter(listenAddress: "127.0.0.1:0").start()
    let session = Session()
    let begun = Begun()
    let group = ServiceGroup(
      services: [ExporterService(exporter), SessionService(session), begun], logger: Logger(label: "test"))
    async let running: Void = group.run()
    for await _ in begun.stream.stream {}

    // The request waits for its answer when the shutdown begins.
    let (asked, go) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
    let adapter = Adapter { request, _ in
      asked.continuation.finish()
      for await _ in go.stream {}
      return request
    }
    let address = try #require(exporter.address)
    let task = session.request("http://\(address)/-/healthy").adapt(using: adapter).serializingString()
    async let response = task.response
    for await _ in asked.stream {}
    await group.triggerGracefulShutdown()
    // Once the session takes no more requests, it drains.
    while await session.request("http://\(address)/-/healthy").serializingData().response.error == nil {}
    go.continuation.finish()
    #expect(await response.error == nil)
    try await running
    #expect(exporter.address == nil)
  }

  @Test("An exporter that can't listen ends its group with the reason")
  func defect() async throws {
    let first = try Exporter(listenAddress: "127.0.0.1:0").start()
    let second = try Exporter(listenAddress: try #require(first.address))
    await #expect(throws: ExporterError.self) { try await ExporterService(second).run() }
    await first.stop()
  }
}
