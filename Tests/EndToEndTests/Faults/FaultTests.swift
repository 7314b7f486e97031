import Foundation
import Testing
import Weir
import WeirTestSupport

/// Each fault of TLS and HTTP/2 against what the caller is told and what is counted.
@Suite(.needs(.openssl, .python, .pythonHTTP2), .timeLimit(.minutes(5))) struct FaultTests {
  private static let servers = Task { try await FaultyServers() }

  @Test(arguments: Fault.table) func aFaultEndsAsItShould(fault: Fault) async throws {
    if fault.isKnownIssue {
      await withKnownIssue(isIntermittent: true) { try await check(fault) }
    } else {
      try await check(fault)
    }
  }

  @Test func theTableHasAllFaults() async throws {
    #expect(Set(Fault.table.map(\.name) + Fault.floods) == (try await Self.servers.value.faults))
  }

  @Test(
    "A connection that keeps libcurl reading is cut, or ends by the time limit; others go on", arguments: Fault.floods)
  func floods(name: String) async throws {
    let servers = try await Self.servers.value
    let client = try MeasuredSession {
      $0.tls.trustRoots = .file(servers.certificates.authority.certificate)
      $0.httpVersion = .http2
    }
    let (url, good) = (try servers.url(name), try servers.url("h2 whole"))
    let clock = ContinuousClock()
    let start = clock.now
    async let flooded = client.session.request(url).deadline(2).serializingData().response
    // The server would go on for two minutes.
    while start.duration(to: clock.now) < .seconds(2) {
      let asked = clock.now
      #expect(await client.get(good).value == Data("body".utf8))
      #expect(asked.duration(to: clock.now) < .seconds(60))
    }
    let response = await flooded
    #expect([.networkConnectionLost, .timedOut].contains(response.urlErrorCode), "\(response)")
    #expect(start.duration(to: clock.now) < .seconds(60))
  }

  @Test(arguments: ["before the head", "after an interim head"])
  func whatMayNotGoTwiceIsNotBegunAgainByHTTP1(stage: String) async throws {
    let servers = try await Self.servers.value
    let client = try MeasuredSession {
      $0.tls.trustRoots = .file(servers.certificates.authority.certificate)
      $0.httpVersion = .http2
    }
    let url = try servers.url("h2 HTTP/1.1 required \(stage)")
    let response = await client.session.request(url, method: .post).serializingData().response
    #expect(response.urlErrorCode == .networkConnectionLost, "\(response)")
    #expect(client.sum("weir_connections_opened_total") == 1)
  }

  @Test("A server that refuses all streams gets a request twice: a further retry waits first")
  func refusals() async throws {
    let servers = try await Self.servers.value
    let client = try MeasuredSession {
      $0.tls.trustRoots = .file(servers.certificates.authority.certificate)
      $0.httpVersion = .http2
    }
    let response = await client.get(try servers.url("h2 reset before the head, refused"))
    #expect(response.urlErrorCode == .networkConnectionLost, "\(response)")
    #expect(client.sum("weir_stale_connection_retries_total") == 1)
    #expect(client.sum("weir_connections_opened_total") == 2)
  }

  @Test func aDownloadWhoseStreamIsResetIsResumed() async throws {
    let servers = try await Self.servers.value
    let client = try MeasuredSession {
      $0.tls.trustRoots = .file(servers.certificates.authority.certificate)
      $0.httpVersion = .http2
    }
    let url = try servers.url("h2 reset in a body that can be resumed")
    let broken = await client.session.download(url).serializingData().response
    #expect(broken.response?.statusCode == 200 && broken.value == nil, "\(broken)")
    let data = try #require(broken.resumeData)
    let whole = await client.session.download(resumingWith: data).serializingData().response
    #expect(whole.response?.statusCode == 206, "\(whole)")
    #expect(whole.value == Data("body rest".utf8))
  }

  private func check(_ fault: Fault) async throws {
    let servers = try await Self.servers.value
    let client = try MeasuredSession {
      $0.tls.trustRoots = .file(servers.certificates.authority.certificate)
      $0.httpVersion = fault.isHTTP2 ? .http2 : .http1_1
      $0.connectTimeout = fault.patience
      $0.timeoutIntervalForRequest = fault.stage == .handshake ? 30 : fault.patience
    }
    let url = try servers.url(fault.name)
    let response = await client.session.request(
      url, method: fault.sendsBody ? .put : .get, parameters: fault.sendsBody ? ["a": "b"] : nil,
      encoder: URLEncodedFormParameterEncoder(destination: .httpBody)
    ).serializingData().response
    check(response, fault)
    count(client, fault)
    // A stream may fail and leave its connection to others; a response of HTTP/1.1 takes its connection with it.
    try await eventually("nothing of it is left open") {
      if case .whole = fault.expected { return true }
      let left = client.sum("http_client_open_connections", fault.isHTTP2 ? ["http_connection_state": "active"] : [:])
      return left == 0
    }
    // The session lives.
    let good = try servers.url(fault.isHTTP2 ? "h2 whole" : "certificate server")
    #expect(await client.get(good).value == Data("body".utf8))
    #expect(servers.log == "")
  }

  private func check(_ response: WeirDataResponse<Data>, _ fault: Fault) {
    switch fault.expected {
    case .whole:
      #expect(response.value == Data("body".utf8), "\(response)")
    case .failed(let code, _):
      #expect(response.urlErrorCode == code, "\(response)")
      let text = response.error?.localizedDescription ?? ""
      #expect(!text.contains("secret") && !text.contains { $0.isNewline }, "no text of the server's is quoted")
    }
    guard fault.stage == .handshake, let metrics = response.metrics else { return }
    #expect(metrics.connect != nil && metrics.processing == nil && metrics.transfer == nil)
    #expect(metrics.tls != nil)
    guard response.urlErrorCode == .timedOut else { return }
    #expect((metrics.tls ?? 0) > fault.patience / 2, "what hangs is the handshake")
  }

  private func count(_ client: MeasuredSession, _ fault: Fault) {
    let (outcome, label): (RequestOutcome, String) =
      switch fault.expected {
      case .whole: (.success, "")
      case .failed(let code, let outcome): (outcome, WeirError.sessionTaskFailed(error: URLError(code)).label)
      }
    #expect(client.sum("weir_requests_total", ["outcome": outcome.rawValue]) == 1)
    #expect(client.sum("weir_requests_total") == 1)
    #expect(client.sum("http_client_request_duration_seconds_count", ["error_type": label]) == 1)
    let opened = client.sum("weir_connections_opened_total")
    #expect(fault.stage == .handshake ? opened == 0 : opened >= 1)
    #expect(client.sum("weir_phase_duration_seconds_count", ["phase": "tls"]) == 1)
  }
}
