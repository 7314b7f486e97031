import Synchronization
import Testing
import WeirIO

@testable import WeirGateway
@testable import WeirTransport

@Suite("Endpoints of an upstream", .timeLimit(.minutes(5))) struct UpstreamEndpointsTests {
  /// An entry with three endpoints.
  private func upstream(_ keys: String) throws -> NamedUpstream {
    let endpoints = (1...3).map { "\"127.0.0.\($0):80\"" }.joined(separator: ", ")
    let text = """
      upstreams: [{name: u, endpoints: [\(endpoints)], \(keys)}]
      routes: [{name: r, respond: {status: 200}}]
      """
    let configuration = try Configuration(parsing: Array(text.utf8), file: "f")
    return try #require(configuration.upstreams.first)
  }

  private func state(of upstream: NamedUpstream) -> DestinationState {
    DestinationState(destination: upstream.target.destination, slots: 100, maximumWaiting: 100)
  }

  private func slots(_ state: DestinationState) -> Int { state.fields.withLock { $0.admission.slots } }

  /// The number of large bodies that may be on their way.
  private func uploads(_ entry: UpstreamEndpoints) -> Int {
    var count = 0
    while entry.uploads.enter() { count += 1 }
    for _ in 0..<count { entry.uploads.leave() }
    return count
  }

  private func check(_ entry: UpstreamEndpoints, _ index: Int, isGood: Bool) {
    let once = CheckThresholds(unhealthyAfter: 1, healthyAfter: 1)
    _ = entry.set.checked(entry.set.endpoints[index], isGood: isGood, once, at: .now)
  }

  @Test func theSlotsAreThoseOfTheEndpointsThatGetRequests() throws {
    let upstream = try upstream("connections: 4")
    let state = state(of: upstream)
    let entry = UpstreamEndpoints(upstream, state, at: .now)
    #expect(slots(state) == 4)
    entry.follow(upstream, room: 10, at: .now)
    #expect(slots(state) == 12)
    #expect(uploads(entry) == 6)
    for (index, left) in [(0, 8), (1, 4), (2, 12)] {
      check(entry, index, isGood: false)
      #expect(slots(state) == left, "all get requests once none is available")
      #expect(uploads(entry) == left / 2)
    }
    check(entry, 0, isGood: true)
    #expect(slots(state) == 4)
    entry.follow(try self.upstream("connections: 6"), room: 10, at: .now)
    #expect(slots(state) == 18)
  }

  @Test func anEntryThatIsReplacedDecidesNoMore() throws {
    let before = try upstream("connections: 4"), after = try upstream("connections: 6, host: client")
    let state = state(of: before)
    let old = UpstreamEndpoints(before, state, at: .now)
    old.follow(before, room: 10, at: .now)
    let new = UpstreamEndpoints(after, state, replacing: old, at: .now)
    #expect(slots(state) == 12, "there is no endpoint yet")
    new.follow(after, room: 10, at: .now)
    #expect(slots(state) == 18)
    check(old, 0, isGood: false)
    #expect(slots(state) == 18)
    #expect(uploads(new) == 9)
    check(new, 0, isGood: false)
    #expect(slots(state) == 12)
  }
}
