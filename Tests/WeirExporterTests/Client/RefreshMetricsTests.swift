import Foundation
import FoundationNetworking
import Synchronization
import Testing
import Weir
import WeirMetrics
import WeirTestSupport

@testable import WeirExporter

/// weir_auth_*, by refreshes on the wire.
@Suite("§18 Metrics of refreshes", .timeLimit(.minutes(5)))
struct RefreshMetricsTests {
  private struct Failure: Error {}

  private struct Token: AuthenticationCredential {
    let text: String
    var requiresRefresh: Bool { false }
  }

  private final class Tokens: Authenticator {
    typealias Completion = @Sendable (Result<Token, any Error>) -> Void

    private let pending = Mutex<[Completion]>([])

    func apply(_ credential: Token, to urlRequest: inout URLRequest) {
      urlRequest.headers.add(.authorization(bearerToken: credential.text))
    }

    func refresh(_ credential: Token, for session: Session, completion: @escaping Completion) {
      pending.withLock { $0.append(completion) }
    }

    func didRequest(
      _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
      urlRequest.headers["Authorization"] == "Bearer \(credential.text)"
    }

    /// Answers the refresh that is or will be under way.
    func answer(_ result: Result<Token, any Error>) async throws {
      let completion = try await eventually("a refresh is asked for") {
        pending.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      }
      completion(result)
    }
  }

  private func lines(_ registry: Registry, _ prefix: String = "weir_auth_") -> [String] {
    registry.text().split(separator: "\n").map(String.init).filter { $0.hasPrefix(prefix) && !$0.contains("_bucket") }
  }

  @Test("Waiting requests, ends of refreshes and their durations, under the interceptor's name")
  func onTheWire() async throws {
    let server = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            let isValid = (head + "\r\n").contains("Bearer good\r\n")
            return [.send(isValid ? okResponse("x") : "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")]
          }
        ])))
    let registry = Registry()
    let monitor = try MetricsMonitor(registry: registry)
    let tokens = Tokens()
    let interceptor = AuthenticationInterceptor(
      name: "tokens", authenticator: tokens, credential: Token(text: "old"), refreshWindow: .init(maximumAttempts: 2))
    let session = Session(interceptor: interceptor, eventMonitors: [monitor])
    func send() -> DataTask<String> { session.request(server.url).validate().serializingString() }

    let first = [send(), send(), send()]
    try await eventually("three wait") {
      lines(registry).contains("weir_auth_refresh_waiters{interceptor=\"tokens\"} 3")
    }
    // The refresh begins on a thread of its own.
    try await eventually("all is at zero as soon as the first refresh begins") {
      lines(registry, "weir_auth_refreshes_total") == [
        "weir_auth_refreshes_total{interceptor=\"tokens\",outcome=\"excessive\"} 0",
        "weir_auth_refreshes_total{interceptor=\"tokens\",outcome=\"failure\"} 0",
        "weir_auth_refreshes_total{interceptor=\"tokens\",outcome=\"success\"} 0",
      ]
    }
    try await tokens.answer(.failure(Failure()))
    for task in first { #expect(await task.response.error?.isRequestRetryError == true) }
    let second = send()
    try await tokens.answer(.success(Token(text: "good")))
    #expect(await second.response.value == "x")
    interceptor.credential = Token(text: "bad")
    #expect(await send().response.error?.isRequestRetryError == true)
    try await eventually("all is counted") {
      lines(registry).filter { !$0.contains("_sum") } == [
        "weir_auth_refresh_duration_seconds_count{interceptor=\"tokens\"} 2",
        "weir_auth_refresh_waiters{interceptor=\"tokens\"} 0",
        "weir_auth_refreshes_total{interceptor=\"tokens\",outcome=\"excessive\"} 1",
        "weir_auth_refreshes_total{interceptor=\"tokens\",outcome=\"failure\"} 1",
        "weir_auth_refreshes_total{interceptor=\"tokens\",outcome=\"success\"} 1",
      ]
    }
  }

  @Test("Without a name it is the type's; a prepared interceptor is at zero before its first refresh")
  func names() async throws {
    let server = try ScriptedServer(.answering("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"))
    let registry = Registry()
    let monitor = try MetricsMonitor(registry: registry)
    monitor.prepare(interceptor: "prepared")
    #expect(lines(registry).count == 4)
    #expect(lines(registry).allSatisfy { $0.hasSuffix("} 0") })
    let interceptor = AuthenticationInterceptor(
      authenticator: Tokens(), credential: Token(text: "a"), refreshWindow: .init(maximumAttempts: 0))
    let session = Session(interceptor: interceptor, eventMonitors: [monitor])
    _ = await session.request(server.url).validate().serializingString().response
    try await eventually("it is counted") {
      lines(registry).contains {
        $0.contains("AuthenticationInterceptor<Tokens>") && $0.hasSuffix("outcome=\"excessive\"} 1")
      }
    }
  }
}
