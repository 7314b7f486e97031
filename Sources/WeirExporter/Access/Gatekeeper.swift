import WeirIO

/// Checks the credentials of requests. Confined to its loop, which never computes a hash.
final class Gatekeeper {
  enum Verdict: Equatable {
    case granted
    case denied
    /// Too many credentials wait to be checked.
    case busy
  }

  typealias Verify = @Sendable (_ password: [UInt8], BcryptHash) -> Bool

  private let rules: AccessRules
  private let loop: EventLoop
  private let verify: Verify
  private let worker = WorkerPool(name: "weir-exporter-password", width: 1)
  private var known = CredentialDigests(limit: Gatekeeper.knownLimit)
  /// The requests that wait for the same credentials, since scrapers begin together.
  private var waiting: [CredentialDigests.Digest: [(Verdict) -> Void]] = [:]

  /// The number of credentials that may wait for the worker: with a cost of 12, two seconds of work.
  static let queueLimit = 8
  private static let knownLimit = 128

  init(_ rules: AccessRules, on loop: EventLoop, verify: @escaping Verify = { $1.matches($0) }) {
    self.rules = rules
    self.loop = loop
    self.verify = verify
  }

  /// Calls `completion` on the loop: at once for a token and for credentials that were right before.
  /// - Parameter authorization: the value of the field; nil if there is none.
  func admit(_ authorization: String?, _ completion: @escaping (Verdict) -> Void) {
    switch authorization.flatMap(Credentials.init) {
    case nil: completion(.denied)
    case .bearer(let token): completion(rules.accepts(token: token) ? .granted : .denied)
    case .basic(let name, let password): check(name, password, completion)
    }
  }

  private func check(_ name: [UInt8], _ password: [UInt8], _ completion: @escaping (Verdict) -> Void) {
    guard let hash = rules.users[name] ?? rules.decoy else { return completion(.denied) }
    let isUser = rules.users[name] != nil
    let digest = known.digest(name: name, password: password)
    if known.contains(digest) { return completion(.granted) }
    if waiting[digest] != nil {
      waiting[digest]?.append(completion)
      return
    }
    let bound = LoopBound(confining: self, on: loop)
    let isQueued = worker.submit(unlessWaiting: Self.queueLimit) { [verify] in
      let isRight = verify(password, hash) && isUser
      bound.loop.post { bound.value.didVerify(digest, isRight) }
    }
    guard isQueued else { return completion(.busy) }
    waiting[digest] = [completion]
  }

  private func didVerify(_ digest: CredentialDigests.Digest, _ isRight: Bool) {
    if isRight { known.insert(digest) }
    for completion in waiting.removeValue(forKey: digest) ?? [] { completion(isRight ? .granted : .denied) }
  }
}
