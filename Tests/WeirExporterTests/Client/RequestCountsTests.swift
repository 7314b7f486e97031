import Foundation
import Testing
import Weir
import WeirMetrics
import WeirTestSupport

@testable import WeirExporter

/// What is started, settles, retries and goes over which connection is counted once, and for what it was.
@Suite("Request counts", .timeLimit(.minutes(5)))
struct RequestCountsTests {
  private let registry = Registry()

  private func session(interceptor: (any RequestInterceptor)? = nil) throws -> Session {
    Session(interceptor: interceptor, eventMonitors: [try MetricsMonitor(registry: registry)])
  }

  /// The sum of the samples whose line begins with `name` and has all of `labels`.
  private func sum(_ name: String, _ labels: String..., in page: String? = nil) -> Double {
    (page ?? registry.text()).split(separator: "\n").filter { line in
      (line.hasPrefix("\(name){") || line.hasPrefix("\(name) ")) && labels.allSatisfy { line.contains($0) }
    }.compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
  }

  @Test("A destination that nobody needs any more leaves the page when nothing is under way there")
  func forgottenDestination() async throws {
    let monitor = try MetricsMonitor(registry: registry)
    let session = Session(eventMonitors: [monitor])
    let hole = try BlackHole()
    let destination = try #require(URL(string: hole.url).flatMap { Destination(url: $0) })
    let request = session.request(hole.url)
    let task = request.serializingData()
    try await eventually("it is on the wire") { hole.connectionCount == 1 }
    #expect(!monitor.forget(destination))
    #expect(registry.text().contains("server_address=\"127.0.0.1\""))
    request.cancel()
    _ = await task.response
    session.invalidateAndCancel()
    try await eventually("nothing is left of it") { monitor.forget(destination) }
    #expect(!registry.text().contains("server_address"))
    #expect(monitor.forget(destination))
  }

  @Test("Destinations that differ only in their scheme have the same labels, and count together")
  func twoSchemes() throws {
    let index = DestinationIndex(try ClientMetrics(registry, SeriesLimits(destinations: 4, operations: 20)), limit: 4)
    let (plain, secure) = (
      Destination(scheme: "http", host: "a.test", port: 8443), Destination(scheme: "https", host: "a.test", port: 8443)
    )
    for destination in [plain, secure] {
      let operations = index.operations(of: destination)
      operations.unnamed.started(method: "GET")
      operations.unnamed.settled(method: "GET", outcome: .success, seconds: 1)
      operations.show()
    }
    #expect(sum("weir_requests_started_total", "a.test") == 2)
    #expect(sum("weir_requests_total", "a.test", "success") == 2)
  }

  @Test("A redirect counts for the first URL, whatever an adapter makes of it")
  func redirectOfAnAdaptedRequest() async throws {
    let moved = "HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"
    let server = try ScriptedServer(Script(.request, .send(moved), .request, .send(okResponse("there")), .awaitClose))
    let adapter = Adapter { urlRequest, _, completion in
      var adapted = urlRequest
      adapted.url = URL(string: server.url)
      completion(.success(adapted))
    }
    let session = try session(interceptor: adapter)
    #expect(await session.request("http://a.test/").serializingString().response.value == "there")
    try await eventually("it has settled") { sum("weir_requests_total", "a.test") == 1 }
    #expect(sum("weir_redirects_total", "server_address=\"a.test\"", "302") == 1)
    #expect(!registry.text().contains("server_address=\"127.0.0.1\""))
  }

  @Test("On every page the started are the settled and those in flight, whatever happens while it is written")
  func identity() throws {
    let families = try ClientMetrics(registry, SeriesLimits(destinations: 4, operations: 20))
    let operations = OperationIndex(DestinationMetrics(families, address: "api.test", port: "443"))
    let metrics = operations.unnamed
    registry.beforeEachPage { operations.show() }
    let done = Gate()
    let writers = (0..<2).map { writer in
      Thread {
        for _ in 0..<100_000 {
          metrics.started(method: writer == 0 ? "GET" : "PUT")
          metrics.settled(method: writer == 0 ? "GET" : "PUT", outcome: .success, seconds: 0)
        }
        if writer == 0 { done.open() }
      }
    }
    for writer in writers { writer.start() }
    var pages: [String] = []
    for _ in 0..<100 { pages.append(registry.text()) }
    done.wait()
    pages.append(registry.text())
    for page in pages {
      let started = sum("weir_requests_started_total", in: page)
      #expect(started == sum("weir_requests_total", in: page) + sum("weir_requests_in_flight", in: page))
    }
    #expect(sum("weir_requests_started_total", "GET", in: pages.last) == 100_000)
  }

  @Test("Those in flight are the session's active requests")
  func inFlight() async throws {
    let gate = Gate()
    let server = try ScriptedServer(Script(.head, .wait(gate), .send(okResponse("x"))))
    let session = try session()
    let responses = (0..<3).map { _ in
      let request = session.request(server.url)
      return Task { await request.serializingString().response }
    }
    try await eventually("all are under way") { sum("weir_attempts_started_total") == 3 }
    #expect(sum("weir_requests_in_flight") == 3)
    let active = await withCheckedContinuation { continuation in
      session.withAllRequests { continuation.resume(returning: $0.count) }
    }
    #expect(active == 3)
    gate.open()
    for response in responses { _ = await response.value }
    #expect(sum("weir_requests_in_flight") == 0)
    #expect(sum("weir_requests_total", "outcome=\"success\"") == 3)
  }

  @Test("A request that was cancelled before its setup began is counted as neither started nor settled")
  func cancelledBeforeSetup() async throws {
    let session = try session()
    let request = session.request("http://127.0.0.1:1/").cancel()
    let response = await request.serializingString().response
    #expect(response.error?.isExplicitlyCancelledError == true)
    #expect(sum("weir_requests_started_total") == 0)
    #expect(sum("weir_requests_total") == 0)
    #expect(sum("weir_request_attempts_count") == 0)
  }

  @Test("A retry is counted when it begins, with the reason it was granted for")
  func retries() async throws {
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), .head, .send(okResponse("ok")), .awaitClose))
    let session = try session(interceptor: RetryPolicy(exponentialBackoffScale: 0.01))
    let request = session.request(server.url).validate()
    _ = await request.serializingString().response
    #expect(sum("weir_retries_total", "reason=\"503\"") == 1)
    #expect(sum("weir_retries_total") == 1)
    #expect(request.retryReason?.rawValue == "503")
  }

  @Test("A retry that was granted and never begins is no retry")
  func grantedOnly() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"))
    let session = try session(interceptor: RetryPolicy(exponentialBackoffScale: 30))
    let request = session.request(server.url).validate()
    let response = Task { await request.serializingString().response }
    try await eventually("it is granted") { sum("weir_retry_delay_seconds_count", "source=\"backoff\"") == 1 }
    request.cancel()
    _ = await response.value
    #expect(sum("weir_retries_total") == 0)
    #expect(request.retryReason == nil)
  }

  @Test("An attempt whose redirect used the connection that it had opened counts as opening one")
  func redirected() async throws {
    let server = try ScriptedServer(
      Script(
        .head, .send("HTTP/1.1 302 Found\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"), .head,
        .send(okResponse("ok")), .awaitClose))
    let session = try session()
    let response = await session.request(server.url).serializingString().response
    #expect(response.value == "ok")
    #expect(response.metrics?.isReusedConnection == false)
    #expect(sum("weir_connections_reused_total") == 0)
    #expect(sum("weir_phase_duration_seconds_count", "phase=\"connect\"") == 1)
  }

  @Test("A status of 400 or more is the attempt's error type")
  func errorType() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 404 Gone\r\nContent-Length: 0\r\n\r\n"))
    let session = try session()
    _ = await session.request(server.url).serializingData().response
    _ = await session.request(server.url).validate().serializingData().response
    #expect(
      sum("http_client_request_duration_seconds_count", "http_response_status_code=\"404\"", "error_type=\"404\"") == 2)
    #expect(sum("weir_attempts_total", "network_protocol_version=\"1.1\"") == 2)
  }
}
