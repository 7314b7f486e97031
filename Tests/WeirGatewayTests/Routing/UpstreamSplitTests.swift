import Testing
import WeirTransport

@testable import WeirGateway

/// The choice of an upstream by weights, and the parts of requests that choices go by.
@Suite struct UpstreamSplitTests {
  private func split(_ weights: Int...) -> UpstreamSplit {
    UpstreamSplit(
      weights.enumerated().map { .init(Upstream(named: "u\($0.offset)", scheme: .http), weight: $0.element) })
  }

  @Test func sharesFollowTheWeights() {
    var random = PickRandom(seed: 1)
    let split = split(95, 5)
    let count = (0..<100_000).count { _ in split.part(at: random.next()) == 0 }
    #expect(abs(Double(count) / 100_000 - 0.95) < 0.005)
  }

  @Test func theBoundsOfDraws() {
    #expect(split(1, 1).part(at: 0) == 0)
    #expect(split(1, 1).part(at: .max) == 1)
    #expect(split(1, 1).part(at: .max / 2) == 0)
    #expect(split(1, 1).part(at: .max / 2 + 1) == 1)
    #expect(split(0, 1, 0).part(at: 0) == 1)
    #expect(split(0, 1, 0).part(at: .max) == 1)
    #expect(split(1000, 1000, 1000).part(at: .max) == 2)
  }

  /// Neither short keys nor a table over the same hash make the shares uneven.
  @Test func keysAreSpread() {
    let split = split(1, 1)
    var high = 0, first = 0
    for number in 0..<20_000 {
      let hash = EndpointKey.hash("\(number)".utf8)
      guard split.part(ofHash: hash) == 0 else { continue }
      first += 1
      if EndpointKey.mixed(hash) > .max / 2 { high += 1 }
    }
    #expect(abs(first - 10_000) < 300)
    #expect(abs(high - 5_000) < 300)
  }

  @Test(arguments: ["client", "header X-A", "cookie a"])
  func keysAreRead(text: String) { #expect(RequestKey(parsing: text) != nil) }

  @Test(arguments: ["", "Client", "client ", "header", "header ", "header  X", "header X Y", "cookie a=b", "ip"])
  func otherTextsAreNoKeys(text: String) { #expect(RequestKey(parsing: text) == nil) }
}
