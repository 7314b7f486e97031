import Testing

@testable import WeirTransport

/// Places that tell of endpoints, and what of their answers is used.
@Suite struct EndpointSourcesTests {
  private func specs(_ hosts: Int...) -> [EndpointSpec] { hosts.map { EndpointSpec(host: "10.0.0.\($0)", port: 80) } }

  private func names(_ sources: EndpointSources, limit: Int = 10) -> [String] {
    sources.endpoints(limit: limit).endpoints.map { String($0.name.dropFirst(7).dropLast(3)) }
  }

  @Test func answersOfAllPlacesAreOneList() {
    var sources = EndpointSources()
    sources.follow(specs(9, 1), ["a", "b"])
    #expect(!sources.isSettled)
    let changed1 = sources.answered("a", specs(3, 1))
    #expect(changed1)
    let changed2 = sources.answered("a", specs(3, 1))
    #expect(!changed2)
    #expect(names(sources) == ["1", "3", "9"])
    let changed3 = sources.answered("c", specs(4))
    #expect(!changed3)
    sources.failed("b")
    #expect(sources.isSettled)
    #expect(sources.endpoints(limit: 2).areCut)
    #expect(names(sources, limit: 2) == ["1", "3"])
    #expect(!sources.endpoints(limit: 3).areCut)
  }

  @Test func failuresAndEmptyAnswersChangeNothing() {
    var sources = EndpointSources()
    sources.follow([], ["a"])
    let changed4 = sources.answered("a", specs(1, 2))
    #expect(changed4)
    sources.failed("a")
    let changed5 = sources.answered("a", [])
    #expect(!changed5)
    #expect(names(sources) == ["1", "2"])
  }

  @Test func endpointsWhoseLookupFailedStay() {
    var sources = EndpointSources()
    sources.follow([], ["a"])
    let changed6 = sources.answered("a", specs(1, 2))
    #expect(changed6)
    let changed7 = sources.answered("a", specs(3)) { $0.host == "10.0.0.2" }
    #expect(changed7)
    #expect(names(sources) == ["2", "3"])
    let changed8 = sources.answered("a", specs(3))
    #expect(changed8)
    #expect(names(sources) == ["3"])
  }

  /// A lookup that fails for good keeps what it found last, and nothing that others have found since.
  @Test func whatStaysDoesNotGrow() {
    var sources = EndpointSources()
    sources.follow([], ["a"])
    _ = sources.answered("a", specs(1, 2))
    for number in 3...250 {
      let changed = sources.answered("a", specs(number)) { $0.host == "10.0.0.2" }
      #expect(changed)
      #expect(Set(sources.endpoints(limit: 10).endpoints.map(\.host)) == ["10.0.0.2", "10.0.0.\(number)"])
      let changedAgain = sources.answered("a", specs(number)) { $0.host == "10.0.0.2" }
      #expect(!changedAgain)
    }
  }

  @Test func whatStaysIsBounded() {
    var sources = EndpointSources()
    sources.follow([], ["a"])
    for port in [1, 10_001, 20_001] {
      let found = (port..<port + 3000).map { EndpointSpec(host: "10.0.0.1", port: $0) }
      let changed = sources.answered("a", found) { _ in true }
      #expect(changed)
    }
    #expect(sources.endpoints(limit: 10_000).endpoints.count == 3000 + 4096)
  }

  @Test func aPlaceThatStaysKeepsItsAnswer() {
    var sources = EndpointSources()
    sources.follow([], ["a", "b"])
    let changed9 = sources.answered("a", specs(1))
    #expect(changed9)
    let changed10 = sources.answered("b", specs(2))
    #expect(changed10)
    sources.follow(specs(5), ["b", "c"])
    #expect(names(sources) == ["2", "5"])
    #expect(!sources.isSettled)
  }

  @Test func anAnswerThatStaysTakesThePlacesNewWeight() {
    var sources = EndpointSources()
    sources.follow([], ["a"])
    let changed = sources.answered("a", specs(1))
    #expect(changed)
    sources.follow([], ["a"]) { $1.with(weight: 5, priority: 2) }
    #expect(sources.endpoints(limit: 1).endpoints == [EndpointSpec(host: "10.0.0.1", port: 80, weight: 5, priority: 2)])
    #expect(sources.isSettled)
  }
}
