import Testing
import WeirIO
import WeirTestSupport

@testable import WeirResolver

/// The order and the bounds of an answer's entries.
@Suite struct AnswerTests {
  private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

  @Test func entriesStandByAddressAndPort() throws {
    var collector = EntryCollector()
    for text in ["2001:db8::2", "10.0.0.10", "::1", "10.0.0.9", "2001:db8::2", "9.255.0.0", "10.0.0.9"] {
      collector.add(Answer.Entry(address: try address(text)))
    }
    #expect(
      collector.sorted().map { "\($0.address)" } == ["9.255.0.0", "10.0.0.9", "10.0.0.10", "::1", "2001:db8::2"])
    #expect(!collector.isCut)
  }

  @Test func betterOfTwoForOnePlaceStays() throws {
    let place = try address("10.0.0.1")
    func entry(_ priority: Int, _ weight: Int, _ target: String) -> Answer.Entry {
      Answer.Entry(address: place, port: 80, priority: priority, weight: weight, target: target)
    }
    let entries = [entry(1, 90, "a"), entry(0, 5, "d"), entry(0, 7, "c"), entry(0, 7, "b"), entry(2, 1, "a")]
    for seed in 0..<20 {
      var random = SeededRandom(seed: UInt64(seed))
      var collector = EntryCollector()
      for entry in entries.shuffled(using: &random) { collector.add(entry) }
      #expect(collector.sorted() == [entry(0, 7, "b")])
    }
  }

  @Test func firstByAddressAreKeptWhateverTheOrder() {
    var random = SeededRandom(seed: 7)
    var collector = EntryCollector()
    for number in (1...UInt32(20_000)).shuffled(using: &random) {
      collector.add(Answer.Entry(address: .v4(number)))
    }
    #expect(collector.sorted().map(\.address) == (1...4096).map { IPAddress.v4($0) })
    #expect(collector.isCut)
  }

  @Test func manyPortsTimesManyAddressesAreBounded() {
    let places = (0..<3000).map { ServiceTargets.Place(port: UInt16($0), priority: 0, weight: 1) }
    let addresses = (1...UInt32(4000)).reversed().map { IPAddress.v4($0) }
    var collector = EntryCollector()
    collector.add(addresses, at: places, of: "a")
    let entries = collector.sorted()
    #expect(entries.count == 4096)
    #expect(entries.first == Answer.Entry(address: .v4(1), port: 0, target: "a"))
    #expect(entries.last == Answer.Entry(address: .v4(2), port: 1095, target: "a"))
    #expect(collector.isCut)
  }
}
