import Testing
import WeirIO
import WeirTestSupport

@testable import WeirExporter

@Suite struct CredentialChecksTests {
  /// Checks whose waiters are numbers. A password of "right" is right.
  private struct Desk {
    var checks: CredentialChecks<Int>
    let digests: CredentialDigests
    let hash: BcryptHash
    var told: [Int: Gatekeeper.Verdict] = [:]
    private(set) var hashed: [String] = []

    init(_ limits: Gatekeeper.Limits) throws {
      digests = CredentialDigests(limit: limits.known)
      checks = CredentialChecks(limits, known: digests)
      hash = try BcryptHash(Sample.secret)
    }

    /// Returns whether there is a verdict at once.
    @discardableResult
    mutating func ask(_ waiter: Int, _ name: String, _ password: String, of client: UInt32, at seconds: Double) -> Bool
    {
      let (name, password) = (Array(name.utf8), Array(password.utf8))
      let check = PasswordCheck(
        digest: digests.digest(name: name, password: password), name: name, password: password, hash: hash, isUser: true
      )
      let answer = checks.ask(check, of: .v4(client), Self.time(seconds)) { waiter }
      if case .verdict(let verdict) = answer { told[waiter] = verdict }
      return told[waiter] != nil
    }

    /// Takes the next check to the worker, and comes back with its result after `took` seconds.
    mutating func work(at seconds: Double, took: Double = 0) -> Bool {
      switch checks.next(Self.time(seconds)) {
      case nil: return false
      case .told(let all): for (waiter, verdict) in all { told[waiter] = verdict }
      case .hash(let check):
        let password = String(decoding: check.password, as: UTF8.self)
        hashed.append(password)
        let isRight = password == "right"
        for (waiter, verdict) in checks.verified(check, isRight: isRight, Self.time(seconds + took)) {
          told[waiter] = verdict
        }
      }
      return true
    }

    static func time(_ seconds: Double) -> MonotonicTime {
      MonotonicTime(nanoseconds: 0).advanced(bySeconds: 1000 + seconds)
    }
  }

  /// The seconds for which a client is barred, to the millisecond.
  private static func seconds(_ verdict: Gatekeeper.Verdict?) -> Double? {
    if case .barred(let seconds)? = verdict { (seconds * 1000).rounded() / 1000 } else { nil }
  }

  @Test func clientsTakeTurns() throws {
    var desk = try Desk(.gateway)
    for number in 0..<8 { desk.ask(number, "a", "wrong \(number)", of: 1, at: 0) }
    desk.ask(8, "a", "wrong 8", of: 1, at: 0)
    #expect(desk.told[8] == .busy, "one client has only a part of the queue")
    desk.ask(9, "b", "right", of: 2, at: 0)
    for _ in 0..<2 {
      let worked = desk.work(at: 0)
      #expect(worked)
    }
    #expect(desk.hashed == ["wrong 0", "right"])
    #expect(desk.told[9] == .granted(user: Array("b".utf8)))
    while desk.work(at: 0) {}
    #expect(desk.checks.count == 0)
    #expect((0..<8).allSatisfy { desk.told[$0] == .denied })
  }

  @Test func tenWrongPasswordsAreTheLastThatAreHashed() throws {
    var desk = try Desk(.gateway)
    for round in 0..<3 {
      for number in 0..<8 { desk.ask(round * 8 + number, "a", "wrong \(round) \(number)", of: 1, at: Double(round)) }
      while desk.work(at: Double(round)) {}
    }
    #expect(desk.hashed.count == 10)
    #expect(desk.told.values.count { $0 == .denied } == 10)
    #expect(Self.seconds(desk.told[10]) == 59, "those in the queue are not hashed any more")
    #expect(Self.seconds(desk.told[16]) == 58)
    desk.ask(30, "a", "right", of: 1, at: 59)
    #expect(Self.seconds(desk.told[30]) == 1, "a right one is not told")
    desk.ask(31, "a", "right", of: 2, at: 59)
    let worked = desk.work(at: 59)
    #expect(worked)
    #expect(desk.told[31] == .granted(user: Array("a".utf8)))
    desk.ask(32, "a", "right", of: 1, at: 59.5)
    #expect(Self.seconds(desk.told[32]) == 0.5, "nor one that is known")
    desk.ask(33, "a", "right", of: 1, at: 60)
    #expect(desk.told[33] == .granted(user: Array("a".utf8)))
  }

  @Test func equalCredentialsShareAHashAndCountForEach() throws {
    var desk = try Desk(.gateway)
    for number in 0..<12 { desk.ask(number, "a", "same", of: 1, at: 0) }
    desk.ask(12, "a", "same", of: 2, at: 0)
    let worked = [desk.work(at: 0), desk.work(at: 0)]
    #expect(worked == [true, false])
    #expect((0..<12).map { desk.told[$0] == .denied } == Array(repeating: true, count: 10) + [false, false])
    #expect(Self.seconds(desk.told[11]) == 60)
    #expect(desk.told[12] == .denied)
  }

  /// One client tries 200 passwords per second while others log in for the first time, with hashes of a quarter of a
  /// second. Each user is let in within a second and is never refused; the guesser has ten tries in a minute.
  @Test func aGuesserHoldsUpNobody() throws {
    for seed in 1...20 as ClosedRange<UInt64> {
      var random = SeededRandom(seed: seed)
      var desk = try Desk(.gateway)
      let cost = 0.25
      var arrivals: [Int: Double] = [:]
      var worst = 0.0
      var now = 0.0, guess = 0, user = 1_000_000
      var workEnds = 0.0
      var nextUser = Double(random.next() % 1000) / 1000
      while now < 120 {
        guess += 1
        desk.ask(guess, "a", "guess \(guess)", of: 1, at: now)
        if now >= nextUser {
          user += 1
          arrivals[user] = now
          // A name of its own: no one else's password is known.
          if desk.ask(user, "user \(user)", "right", of: UInt32(2 + random.next() % 3), at: now) {
            #expect(desk.told[user] == .granted(user: Array("user \(user)".utf8)))
            arrivals[user] = nil
          }
          nextUser = now + 1 + Double(random.next() % 1000) / 500
        }
        if now >= workEnds, desk.work(at: now, took: cost) { workEnds = now + cost }
        for (number, began) in arrivals {
          guard let verdict = desk.told[number] else { continue }
          #expect(verdict == .granted(user: Array("user \(number)".utf8)), "seed \(seed)")
          worst = max(worst, workEnds - began)
          arrivals[number] = nil
        }
        now += 0.005
      }
      #expect(worst <= 1, "seed \(seed)")
      #expect(arrivals.allSatisfy { now - $0.value <= 1 }, "seed \(seed)")
      #expect(desk.hashed.count { $0.hasPrefix("guess") } <= 30, "seed \(seed)")
      #expect(desk.hashed.count { $0.hasPrefix("guess") } >= 20, "seed \(seed)")
    }
  }
}
