import Testing
import WeirTestSupport

/// Ends a suite's Prometheus after its last test.
struct PrometheusScope: SuiteTrait, TestScoping {
  let server: @Sendable () async throws -> PrometheusServer

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await function()
    try await server().stop()
  }
}

extension Trait where Self == PrometheusScope {
  static func prometheus(_ server: @escaping @Sendable () async throws -> PrometheusServer) -> Self {
    Self(server: server)
  }
}
