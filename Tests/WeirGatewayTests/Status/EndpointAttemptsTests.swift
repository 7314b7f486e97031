import Testing
import WeirExporter

@testable import WeirGateway

/// The attempts at endpoints, by window.
@Suite struct EndpointAttemptsTests {
  private static let a = EndpointAttempts.Key(upstream: "u", endpoint: "a:1")
  private static let b = EndpointAttempts.Key(upstream: "u", endpoint: "b:1")

  private func counts(
    _ key: EndpointAttempts.Key, _ good: UInt32, _ bad: UInt32
  ) -> (
    key: EndpointAttempts.Key, counts: EndpointAttempts.Counts
  ) {
    (key, EndpointAttempts.Counts(successes: good, failures: bad))
  }

  @Test func whatWasBeforeIsNotCounted() {
    var attempts = EndpointAttempts()
    attempts.read([counts(Self.a, 100, 10)])
    #expect(attempts.counts(of: Self.a).last5m.all == 0)
    attempts.read([counts(Self.a, 103, 11), counts(Self.b, 5, 0)])
    #expect(attempts.counts(of: Self.a).last10s == EndpointAttempts.Counts(successes: 3, failures: 1))
    #expect(attempts.counts(of: Self.b).last10s.all == 5, "an endpoint that is new counts from its beginning")
    #expect(attempts.counts(of: EndpointAttempts.Key(upstream: "u", endpoint: "c")).last10s.all == 0)
  }

  @Test func countsMayPassThirtyTwoBits() {
    var attempts = EndpointAttempts()
    attempts.read([counts(Self.a, .max - 1, 1000)])
    attempts.read([counts(Self.a, 3, 1001)])
    #expect(attempts.counts(of: Self.a).last10s == EndpointAttempts.Counts(successes: 5, failures: 1))
  }

  @Test func windowsEnd() {
    var attempts = EndpointAttempts()
    attempts.read([counts(Self.a, 0, 0)])
    attempts.read([counts(Self.a, 7, 0)])
    for _ in 0..<3 { attempts.turn() }
    #expect(attempts.counts(of: Self.a).last10s.all == 0 && attempts.counts(of: Self.a).last5m.all == 7)
    for _ in 0..<60 { attempts.turn() }
    #expect(attempts.counts(of: Self.a).last5m.all == 0)
  }

  @Test func anEndpointThatComesBackCountsAnew() {
    var attempts = EndpointAttempts()
    attempts.read([counts(Self.a, 50, 0)])
    attempts.read([counts(Self.a, 2, 1)])
    #expect(attempts.counts(of: Self.a).last10s.all == 3)
    attempts.read([])
    #expect(attempts.counts(of: Self.a).last10s.all == 0)
  }
}
