import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

@Suite("Destinations", .timeLimit(.minutes(5)))
struct DestinationTableTests {
  private static let limits = TransportLimits(slots: 64, waiting: 10_000, admissionTimeout: 30)

  private func destination(_ number: Int) -> Destination {
    Destination(scheme: "http", host: "host\(number)", port: 80)
  }

  private func state(_ number: Int, of table: DestinationTable) -> DestinationState {
    table.state(for: destination(number), limits: Self.limits)
  }

  @Test("A destination that somebody holds is the same for all, and stays")
  func held() {
    let table = DestinationTable()
    let held = state(0, of: table)
    for number in 1...10_000 { _ = state(number, of: table) }
    #expect(table.count <= 4_096)
    #expect(state(0, of: table) === held)
    #expect(table.state(for: Destination(scheme: "HTTP", host: "HOST0", port: 80), limits: Self.limits) === held)
  }

  @Test("However many are held, all of them are found again; once they aren't, there is a bound again")
  func manyHeld() {
    let table = DestinationTable(capacity: 100)
    do {
      let held = (0..<1_000).map { state($0, of: table) }
      #expect(table.count == 1_000)
      for number in 0..<1_000 { #expect(state(number, of: table) === held[number]) }
      withExtendedLifetime(held) {}
    }
    for number in 1_000..<1_200 { _ = state(number, of: table) }
    #expect(table.count <= 100)
  }

  @Test("Those to which no requests will go are dropped once nobody holds them")
  func keeping() {
    let table = DestinationTable()
    let kept = ObjectIdentifier(state(0, of: table))
    for number in 1..<10 { _ = state(number, of: table) }
    do {
      let held = state(5, of: table)
      table.keep([destination(0), destination(77)])
      #expect(table.count == 2)
      #expect(state(5, of: table) === held)
    }
    table.keep([destination(0)])
    #expect(table.count == 1)
    #expect(ObjectIdentifier(state(0, of: table)) == kept)
  }

  /// What a destination remembers is shown by its budget: one retry in a minute, none after it.
  private static let once = RetryBudget(ratio: 0, minimumPerSecond: 0, burst: 1, window: 60)

  @Test("A destination's state survives while no session holds it")
  func remembering() {
    let table = DestinationTable()
    #expect(state(0, of: table).grantsRetry(by: Self.once, at: .now))
    for number in 1..<4_096 { _ = state(number, of: table) }
    #expect(table.count == 4_096)
    #expect(!state(0, of: table).grantsRetry(by: Self.once, at: .now))
  }

  @Test("When there are too many, those go that were asked for a slot longest ago")
  func leastRecentlyUsed() {
    let table = DestinationTable(capacity: 80)
    let start = MonotonicTime.now
    for number in 0..<80 {
      let state = state(number, of: table)
      // In another order than that in which they were made.
      let now = start.advanced(bySeconds: 0.1 * Double(1 + (number * 37) % 80))
      _ = state.ask(nil, nil, at: now) { { _ in } }
      #expect(state.grantsRetry(by: Self.once, at: now))
    }
    _ = state(80, of: table)
    #expect(table.count == 71, "ten have gone at once")
    let now = start.advanced(bySeconds: 9)
    // Those that are remembered first: each of the others takes the place of one.
    for number in (0..<80).sorted(by: { ($0 * 37) % 80 > ($1 * 37) % 80 }) {
      let isRemembered = !state(number, of: table).grantsRetry(by: Self.once, at: now)
      #expect(isRemembered == ((number * 37) % 80 >= 10), "\(number)")
    }
  }

  /// Asks the destination when it ends, as the caller's objects may by way of the requests that they have to do with.
  private final class Curious: Sendable {
    let destination: DestinationState
    let counted: @Sendable () -> Void

    init(_ destination: DestinationState, counted: @escaping @Sendable () -> Void) {
      self.destination = destination
      self.counted = counted
    }

    deinit {
      if destination.occupancy.count == 3 { counted() }
    }
  }

  @Test("Waiters that leave the queue are released once the destination's lock is free")
  func departures() {
    let destination = DestinationState(
      destination: Destination(scheme: "http", host: "h", port: 80), slots: 1, maximumWaiting: 1_000)
    let ended = Mutex(0)
    let counts: @Sendable () -> Void = { ended.withLock { $0 += 1 } }
    guard case .granted = destination.ask(nil, nil, at: .now, { { _ in } }).decision else {
      Issue.record("no slot was free")
      return
    }
    var tickets: [UInt64] = []
    for _ in 0..<200 {
      let curious = Curious(destination, counted: counts)
      let answer = destination.ask(nil, nil, at: .now) { { _ in withExtendedLifetime(curious) {} } }
      if case .waiting(.first(let ticket)) = answer.decision { tickets.append(ticket) }
    }
    let last = Curious(destination, counted: counts)
    guard case .waiting(let again) = destination.askAgain({ _ in withExtendedLifetime(last) {} }) else {
      Issue.record("a slot was free")
      return
    }
    destination.withdraw(.again(again), .withdrawn, at: .now)
    for ticket in tickets { destination.withdraw(.first(ticket), .withdrawn, at: .now) }
    destination.release()
    #expect(ended.withLock { $0 } == 200, "the last one is held here")
    #expect(destination.occupancy == [0, 0, 0])
    withExtendedLifetime(last) {}
  }
}
