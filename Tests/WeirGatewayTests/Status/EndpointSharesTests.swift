import Testing
import WeirExporter

@testable import WeirGateway

/// The attempts at endpoints, by window.
@Suite struct EndpointSharesTests {
  private static let a = EndpointShares.Key(upstream: "u", endpoint: "a:1")
  private static let b = EndpointShares.Key(upstream: "u", endpoint: "b:1")

  private func counts(
    _ key: EndpointShares.Key, _ good: UInt32, _ bad: UInt32
  ) -> (
    key: EndpointShares.Key, attempts: EndpointShares.Attempts
  ) {
    (key, EndpointShares.Attempts(successes: good, failures: bad))
  }

  @Test func whatWasBeforeIsNotCounted() {
    var shares = EndpointShares()
    shares.read([counts(Self.a, 100, 10)])
    #expect(shares.attempts(of: Self.a).last5m.all == 0)
    shares.read([counts(Self.a, 103, 11), counts(Self.b, 5, 0)])
    #expect(shares.attempts(of: Self.a).last10s == EndpointShares.Attempts(successes: 3, failures: 1))
    #expect(shares.attempts(of: Self.b).last10s.all == 5, "an endpoint that is new counts from its beginning")
    #expect(shares.attempts(of: EndpointShares.Key(upstream: "u", endpoint: "c")).last10s.all == 0)
  }

  @Test func countsMayPassThirtyTwoBits() {
    var shares = EndpointShares()
    shares.read([counts(Self.a, .max - 1, 1000)])
    shares.read([counts(Self.a, 3, 1001)])
    #expect(shares.attempts(of: Self.a).last10s == EndpointShares.Attempts(successes: 5, failures: 1))
  }

  @Test func windowsEnd() {
    var shares = EndpointShares()
    shares.read([counts(Self.a, 0, 0)])
    shares.read([counts(Self.a, 7, 0)])
    for _ in 0..<3 { shares.turn() }
    #expect(shares.attempts(of: Self.a).last10s.all == 0 && shares.attempts(of: Self.a).last5m.all == 7)
    for _ in 0..<60 { shares.turn() }
    #expect(shares.attempts(of: Self.a).last5m.all == 0)
  }

  @Test func anEndpointThatComesBackCountsAnew() {
    var shares = EndpointShares()
    shares.read([counts(Self.a, 50, 0)])
    shares.read([counts(Self.a, 2, 1)])
    #expect(shares.attempts(of: Self.a).last10s.all == 3)
    shares.read([])
    #expect(shares.attempts(of: Self.a).last10s.all == 0)
  }
}
