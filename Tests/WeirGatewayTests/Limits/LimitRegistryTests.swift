import Testing
import WeirIO

@testable import WeirGateway

@Suite struct LimitRegistryTests {
  private struct Request: LimitedRequest {
    var limitedAddress: IPAddress? { nil }
    var user: [UInt8]? { nil }

    func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Void) {}
  }

  /// The permits of a request that the first limiter admits.
  private static func permits(by limiters: [RouteLimiter?]) -> ConcurrencyPermits? {
    guard let limiter = limiters.first ?? nil else { return nil }
    switch limiter.admit(Request(), at: MonotonicTime(nanoseconds: 0), exceeded: { _ in }) {
    case .admitted(let permits): return permits
    case .rateLimited, .busy: return nil
    }
  }

  @Test func requestsCountWhenTheirRouteIsBack() throws {
    let registry = LimitRegistry()
    var route = try Route(to: 1)
    route.limits.concurrency = [ConcurrencyLimit(1, key: .route)]
    let permits = Self.permits(by: registry.follow([route]))
    #expect(permits != nil)
    for _ in 0..<2 { #expect(registry.follow([]).isEmpty) }
    #expect(Self.permits(by: registry.follow([route])) == nil)
    permits?.release()
    #expect(Self.permits(by: registry.follow([route])) != nil)
  }
}
