import Synchronization
package import WeirIO

/// Checks the credentials of requests, which may be on several loops. Passwords are hashed on a thread of its own, one
/// after the other.
package final class Gatekeeper: Sendable {
  package enum Verdict: Hashable, Sendable {
    /// With the name of the user; nil for a bearer token.
    case granted(user: [UInt8]?)
    case denied
    /// Too many credentials wait to be checked.
    case busy
    /// The client has given too many wrong passwords. With the seconds until it may give others.
    case barred(seconds: Double)
  }

  package struct Limits: Sendable {
    /// The credentials that may wait while one is hashed: of all clients, and of one.
    var waiting: Int
    var waitingOfClient: Int
    /// The credentials that are remembered once they were right.
    var known: Int
    /// The wrong passwords after which a client is barred; nil if none is.
    var wrongPasswords: WrongPasswords.Limits?

    /// Those of an exporter, whose few clients are its scrapers. With a cost of 12, its queue is two seconds of work.
    static let exporter = Limits(waiting: 8, waitingOfClient: .max, known: 128, wrongPasswords: nil)
    package static let gateway = Limits(
      waiting: 64, waitingOfClient: 8, known: 1024, wrongPasswords: WrongPasswords.Limits())
  }

  typealias Verify = @Sendable (_ password: [UInt8], BcryptHash) -> Bool
  package typealias Completion = (Verdict) -> Void

  package let rules: AccessRules
  private let verify: Verify
  private let worker: WorkerPool
  private let digests: CredentialDigests
  private let checks: Mutex<CredentialChecks<LoopBound<Completion>>>

  package convenience init(_ rules: AccessRules, limits: Limits) {
    self.init(rules, limits: limits, verify: { $1.matches($0) })
  }

  init(_ rules: AccessRules, limits: Limits, verify: @escaping Verify) {
    self.rules = rules
    self.verify = verify
    worker = WorkerPool(name: "weir.password", width: 1)
    let digests = CredentialDigests(limit: limits.known)
    self.digests = digests
    checks = Mutex(CredentialChecks(limits, known: digests))
  }

  /// Returns the verdict on a request, or nil if a password has to be hashed. Then `completion` is called with the
  /// verdict, on the loop. Called on the loop.
  ///
  /// - Parameters:
  ///   - authorization: The value of the field; nil if there is none.
  ///   - client: The address of the client that gives the credentials; nil if it has none.
  package func admit(
    _ authorization: String?, of client: IPAddress?, on loop: EventLoop, _ completion: @escaping Completion
  ) -> Verdict? {
    switch authorization.flatMap(Credentials.init) {
    case nil: return .denied
    case .bearer(let token): return rules.accepts(token: token) ? .granted(user: nil) : .denied
    case .basic(let name, let password):
      guard let hash = rules.users[name] ?? rules.decoy else { return .denied }
      let check = PasswordCheck(
        digest: digests.digest(name: name, password: password), name: name, password: password, hash: hash,
        isUser: rules.users[name] != nil)
      let now = MonotonicTime.now
      let answer = checks.withLock { checks in
        checks.ask(check, of: client.map(\.network), now) { LoopBound(confining: completion, on: loop) }
      }
      switch answer {
      case .verdict(let verdict): return verdict
      case .waits: return nil
      case .waitsForWorker:
        worker.submit { [self] in checkNext() }
        return nil
      }
    }
  }

  /// Hashes the next password. On the worker's thread.
  private func checkNext() {
    guard let step = checks.withLock({ $0.next(.now) }) else { return }
    switch step {
    case .told(let verdicts): tell(verdicts)
    case .hash(let check):
      let isRight = verify(check.password, check.hash) && check.isUser
      tell(checks.withLock { $0.verified(check, isRight: isRight, .now) })
    }
  }

  private func tell(_ verdicts: [(waiter: LoopBound<Completion>, verdict: Verdict)]) {
    for (waiter, verdict) in verdicts { waiter.loop.post { waiter.value(verdict) } }
  }
}

extension IPAddress {
  /// The address, or for IPv6 the network of 64 bits in which one client chooses its addresses.
  fileprivate var network: IPAddress {
    switch unmapped {
    case .v4: unmapped
    case .v6(let high, _): .v6(high: high, low: 0)
    }
  }
}
