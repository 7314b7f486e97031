import CTLS
import Synchronization
import Testing
import WeirTLS

@Suite struct TicketTests {
  private let settings: TLSSettings
  private let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

  init() throws {
    settings = TLSSettings(certificates: [try MadeCertificate("server", alternatives: "DNS:server.example").pair()])
  }

  /// Seconds that a test moves.
  final class Clock: Sendable {
    private let seconds = Mutex(1000.0)
    var now: Double { seconds.withLock { $0 } }
    func advance(hours: Double) { seconds.withLock { $0 += hours * 3600 } }
  }

  private func isResumed(
    from before: TLSServerContext, to after: TLSServerContext, _ version: CInt, meanwhile: () -> Void = {}
  ) throws -> Bool {
    let first = try Connection.opened(before, .init(serverName: "server.example", maximum: version))
    try #require(first.state == .done)
    #expect(!first.stream.isResumed)
    meanwhile()
    let second = try Connection.opened(
      after, .init(serverName: "server.example", maximum: version, session: first.client.session))
    try #require(second.state == .done)
    #expect(second.client.isResumed == second.stream.isResumed)
    #expect(second.stream.certificateCovers(host: "server.example"))
    #expect(second.stream.serverName == "server.example")
    return second.stream.isResumed
  }

  @Test func ticketsOutliveAReload() throws {
    let before = try TLSServerContext(settings)
    let after = try TLSServerContext(settings, keysOf: before)
    let fresh = try TLSServerContext(settings)
    for version in versions {
      #expect(try isResumed(from: before, to: before, version))
      #expect(try isResumed(from: before, to: after, version))
      #expect(try isResumed(from: after, to: before, version))
      #expect(try !isResumed(from: before, to: fresh, version))
    }
  }

  @Test func changedAuthorityVoidsTickets() throws {
    let (one, two) = (
      try MadeCertificate("one", isAuthority: true).certificatePEM,
      try MadeCertificate("two", isAuthority: true).certificatePEM
    )
    for given in [nil, [[UInt8](repeating: 5, count: 80)]] {
      func context(_ authority: [UInt8]?, after previous: TLSServerContext?) throws -> TLSServerContext {
        var settings = settings
        settings.clientCA = authority
        settings.clientAuth = .optional
        settings.ticketKeys = given
        return try TLSServerContext(settings, keysOf: previous)
      }
      let before = try context(one, after: nil)
      let (same, other, none) = (
        try context(one, after: before), try context(two, after: before), try context(nil, after: before)
      )
      for version in versions {
        #expect(try isResumed(from: before, to: same, version))
        #expect(try !isResumed(from: before, to: other, version))
        #expect(try !isResumed(from: before, to: none, version))
        #expect(try !isResumed(from: none, to: before, version))
      }
    }
  }

  @Test func givenKeysAreSharedAndTheFirstEncrypts() throws {
    func context(_ keys: UInt8...) throws -> TLSServerContext {
      var settings = settings
      settings.ticketKeys = keys.map { [UInt8](repeating: $0, count: 80) }
      return try TLSServerContext(settings)
    }
    let (a, alsoA, ba, b) = (try context(1), try context(1), try context(2, 1), try context(2))
    for version in versions {
      #expect(try isResumed(from: a, to: alsoA, version))
      #expect(try isResumed(from: a, to: ba, version))
      #expect(try isResumed(from: ba, to: b, version))
      #expect(try !isResumed(from: ba, to: a, version))
      #expect(try !isResumed(from: a, to: b, version))
    }
  }

  @Test(arguments: [(0, true), (11.9, true), (12.1, true), (23.9, true), (24.1, false), (240, false)])
  func drawnKeysChange(hours: Double, isGood: Bool) throws {
    for version in versions {
      let clock = Clock()
      let context = try TLSServerContext(settings) { clock.now }
      let isResumed = try isResumed(from: context, to: context, version) { clock.advance(hours: hours) }
      #expect(isResumed == isGood)
    }
  }

  @Test func oldTicketsAreReplaced() throws {
    for version in versions {
      let clock = Clock()
      let context = try TLSServerContext(settings) { clock.now }
      var session = try Connection.opened(context, .init(maximum: version)).client.session
      for _ in 0..<5 {
        clock.advance(hours: 12.5)
        let next = try Connection.opened(context, .init(maximum: version, session: session))
        #expect(next.stream.isResumed)
        session = next.client.session
      }
    }
  }

  /// A resumed connection is for the name that its certificate was shown for, whatever the client names now.
  @Test func ticketsKeepTheirName() throws {
    var settings = settings
    settings.certificates.append(try MadeCertificate("other", alternatives: "DNS:other.example").pair())
    let context = try TLSServerContext(settings)
    for version in versions {
      let first = try Connection.opened(context, .init(serverName: "other.example", maximum: version))
      let second = try Connection.opened(
        context, .init(serverName: "server.example", maximum: version, session: first.client.session))
      #expect(second.state == .done)
      let isResumed = second.stream.isResumed
      #expect(second.stream.certificateCovers(host: "other.example") == isResumed)
      #expect(second.stream.certificateCovers(host: "server.example") == !isResumed)
      // Names in other letters, and names that are unknown both times, are no other names.
      for (one, two) in [("other.example", "OTHER.example"), ("one.unknown", "two.unknown")] {
        let first = try Connection.opened(context, .init(serverName: one, maximum: version))
        let second = try Connection.opened(
          context, .init(serverName: two, maximum: version, session: first.client.session))
        #expect(second.stream.isResumed)
      }
    }
  }

  @Test func changedTicketsAreNotTaken() throws {
    let context = try TLSServerContext(settings)
    let first = try Connection.opened(context, .init(maximum: TLS1_2_VERSION))
    let session = try #require(first.client.session)
    var bytes: UnsafePointer<UInt8>?
    var count = 0
    SSL_SESSION_get0_ticket(session.pointer, &bytes, &count)
    let start = try #require(UnsafeMutablePointer(mutating: bytes))
    for place in [0, 15, 16, 31, 32, count / 2, count - 32, count - 1] {
      start[place] ^= 1
      let second = try Connection.opened(context, .init(maximum: TLS1_2_VERSION, session: session))
      #expect(second.state == .done)
      #expect(!second.stream.isResumed)
      start[place] ^= 1
    }
    #expect(try Connection.opened(context, .init(maximum: TLS1_2_VERSION, session: session)).stream.isResumed)
  }
}
