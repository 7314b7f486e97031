import Testing

@testable import WeirCurl

/// Which origins are known to speak which protocol.
@Suite
struct ProtocolMemoryTests {
  @Test
  func originsAreToldApart() {
    var memory = ProtocolMemory()
    memory.note(.multiplexed, of: "https://a.example/x/y?z")
    memory.note(.http1, of: "https://a.example:8443")
    let cases: [(String, ProtocolExpectation)] = [
      ("https://a.example/", .multiplexed), ("https://a.example", .multiplexed), ("https://a.example?q", .multiplexed),
      ("https://a.example#f", .multiplexed), ("https://a.example:8443/", .http1), ("https://a.example:844/", .unknown),
      ("https://a.example:84433/", .unknown), ("https://a.example.org/", .unknown), ("http://a.example/", .unknown),
      ("https://b.example/", .unknown), ("", .unknown), ("https://", .unknown),
    ]
    for _ in 0..<2 {
      for (url, expected) in cases {
        let found = memory.expectation(of: url)
        #expect(found == expected, "\(url)")
      }
    }
  }

  @Test
  func theLastAnswerCounts() {
    var memory = ProtocolMemory()
    let url = "https://a.example/"
    memory.note(.multiplexed, of: url)
    memory.note(.http1, of: url)
    let first = memory.expectation(of: url)
    #expect(first == .http1)
    memory.note(.multiplexed, of: "https://b.example/")
    memory.note(.multiplexed, of: url)
    let second = memory.expectation(of: url)
    #expect(second == .multiplexed)
    #expect(memory.count == 2)
  }

  @Test
  func serversOfOneAddressAreToldApart() {
    var memory = ProtocolMemory()
    let url = "https://a.example/"
    memory.note(.multiplexed, of: url, as: "b.example")
    memory.note(.http1, of: url, as: "c.example")
    for _ in 0..<2 {
      for (name, expected) in [("b.example", ProtocolExpectation.multiplexed), ("c.example", .http1), (nil, .unknown)] {
        let found = memory.expectation(of: url, as: name)
        #expect(found == expected, "\(name ?? "none")")
      }
    }
  }

  @Test
  func credentialsAreNotKept() {
    var memory = ProtocolMemory()
    memory.note(.multiplexed, of: "https://me:secret@a.example/")
    #expect(memory.count == 0)
    let found = memory.expectation(of: "https://me:secret@a.example/")
    #expect(found == .unknown)
  }

  @Test
  func itIsBounded() {
    var memory = ProtocolMemory()
    for number in 0..<5000 { memory.note(.multiplexed, of: "https://h\(number).example/") }
    #expect(memory.count <= 1024)
    let found = memory.expectation(of: "https://h4999.example/")
    #expect(found == .multiplexed)
  }
}
