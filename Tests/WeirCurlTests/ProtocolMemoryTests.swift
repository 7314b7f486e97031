import Testing
import WeirIO

@testable import WeirCurl

/// Which origins are known to speak which protocol.
@Suite
struct ProtocolMemoryTests {
  private static func spec(
    _ url: String, as name: String? = nil, at endpoint: TransferEndpoint? = nil
  ) -> TransferSpec {
    var spec = TransferSpec(url: url, trust: name.map { TransferTrust(TLSOptions(), serverName: $0) })
    spec.endpoint = endpoint
    return spec
  }

  @Test
  func originsAreToldApart() {
    var memory = ProtocolMemory()
    memory.note(.multiplexed, of: Self.spec("https://a.example/x/y?z"))
    memory.note(.http1, of: Self.spec("https://a.example:8443"))
    let cases: [(String, ProtocolExpectation)] = [
      ("https://a.example/", .multiplexed), ("https://a.example", .multiplexed), ("https://a.example?q", .multiplexed),
      ("https://a.example#f", .multiplexed), ("https://a.example:8443/", .http1), ("https://a.example:844/", .unknown),
      ("https://a.example:84433/", .unknown), ("https://a.example.org/", .unknown), ("http://a.example/", .unknown),
      ("https://b.example/", .unknown), ("", .unknown), ("https://", .unknown),
    ]
    for _ in 0..<2 {
      for (url, expected) in cases {
        let found = memory.expectation(of: Self.spec(url))
        #expect(found == expected, "\(url)")
      }
    }
  }

  @Test
  func theLastAnswerCounts() {
    var memory = ProtocolMemory()
    let url = "https://a.example/"
    memory.note(.multiplexed, of: Self.spec(url))
    memory.note(.http1, of: Self.spec(url))
    let first = memory.expectation(of: Self.spec(url))
    #expect(first == .http1)
    memory.note(.multiplexed, of: Self.spec("https://b.example/"))
    memory.note(.multiplexed, of: Self.spec(url))
    let second = memory.expectation(of: Self.spec(url))
    #expect(second == .multiplexed)
    #expect(memory.count == 2)
  }

  @Test
  func serversOfOneAddressAreToldApart() {
    var memory = ProtocolMemory()
    let url = "https://a.example/"
    memory.note(.multiplexed, of: Self.spec(url, as: "b.example"))
    memory.note(.http1, of: Self.spec(url, as: "c.example"))
    for _ in 0..<2 {
      for (name, expected) in [("b.example", ProtocolExpectation.multiplexed), ("c.example", .http1), (nil, .unknown)] {
        let found = memory.expectation(of: Self.spec(url, as: name))
        #expect(found == expected, "\(name ?? "none")")
      }
    }
  }

  /// One endpoint that speaks HTTP/1.1 says nothing of the others.
  @Test
  func endpointsAreToldApart() {
    var memory = ProtocolMemory()
    let url = "https://a.example/"
    func endpoint(_ port: Int) -> TransferEndpoint { TransferEndpoint(.host("a.example", port: port)) }
    memory.note(.multiplexed, of: Self.spec(url, at: endpoint(1)))
    memory.note(.http1, of: Self.spec(url, at: endpoint(2)))
    memory.noteHTTP1(Self.spec(url, at: endpoint(2)), at: MonotonicTime(nanoseconds: 1))
    for _ in 0..<2 {
      for (place, expected) in [
        (endpoint(1), ProtocolExpectation.multiplexed), (endpoint(2), .http1), (endpoint(3), .unknown), (nil, .unknown),
      ] {
        let found = memory.expectation(of: Self.spec(url, at: place))
        #expect(found == expected, "\(String(describing: place?.place))")
        let speaks = memory.speaksHTTP1(Self.spec(url, at: place), at: MonotonicTime(nanoseconds: 2))
        #expect(speaks == (expected == .http1))
      }
    }
  }

  @Test
  func credentialsAreNotKept() {
    var memory = ProtocolMemory()
    memory.note(.multiplexed, of: Self.spec("https://me:secret@a.example/"))
    #expect(memory.count == 0)
    let found = memory.expectation(of: Self.spec("https://me:secret@a.example/"))
    #expect(found == .unknown)
  }

  @Test
  func itIsBounded() {
    var memory = ProtocolMemory()
    for number in 0..<5000 { memory.note(.multiplexed, of: Self.spec("https://h\(number).example/")) }
    #expect(memory.count <= 1024)
    let found = memory.expectation(of: Self.spec("https://h4999.example/"))
    #expect(found == .multiplexed)
  }
}
