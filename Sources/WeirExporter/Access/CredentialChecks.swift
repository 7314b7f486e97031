import WeirIO

/// A password to hash.
struct PasswordCheck: Sendable {
  let digest: CredentialDigests.Digest
  let name: [UInt8]
  let password: [UInt8]
  /// The hash to compare with, which is a decoy for an unknown name.
  let hash: BcryptHash
  let isUser: Bool
}

/// Decides which passwords are hashed, and in which order. A value, with the time passed in.
///
/// Clients take turns, so that one with many passwords doesn't hold up another one. A client that was barred for wrong
/// passwords has none hashed, and isn't told which ones are right.
struct CredentialChecks<Waiter> {
  typealias Digest = CredentialDigests.Digest
  typealias Verdict = Gatekeeper.Verdict
  typealias Told = [(waiter: Waiter, verdict: Verdict)]

  enum Answer {
    case verdict(Verdict)
    /// The same credentials are being checked already.
    case waits
    /// The worker has one more check to do.
    case waitsForWorker
  }

  enum Step {
    case hash(PasswordCheck)
    case told(Told)
  }

  fileprivate struct Entry {
    let check: PasswordCheck
    var waiters: [(client: IPAddress?, waiter: Waiter)]
  }

  private let limits: Gatekeeper.Limits
  private var known: CredentialDigests
  private var wrong: WrongPasswords?
  /// The checks that wait or run.
  private var entries: [Digest: Entry] = [:]
  /// The checks that wait, by the client that asked first.
  private var queues: [IPAddress?: Deque<Digest>] = [:]
  /// The clients with waiting checks, in the order of their turns.
  private var turns = Deque<IPAddress?>()

  init(_ limits: Gatekeeper.Limits, known: CredentialDigests) {
    self.limits = limits
    self.known = known
    wrong = limits.wrongPasswords.map { WrongPasswords($0) }
  }

  /// The number of checks that wait or run.
  var count: Int { entries.count }

  /// - Parameter waiter: Made only if it has to wait.
  mutating func ask(
    _ check: PasswordCheck, of client: IPAddress?, _ now: MonotonicTime, _ waiter: () -> Waiter
  ) -> Answer {
    if let seconds = wrong?.barred(client, now) { return .verdict(.barred(seconds: seconds)) }
    if known.contains(check.digest) { return .verdict(.granted(user: check.name)) }
    if entries[check.digest] != nil {
      entries[check.digest]?.waiters.append((client, waiter()))
      return .waits
    }
    // One more than those that wait may be with the worker.
    let own = queues[client]?.count ?? 0
    guard entries.count <= limits.waiting, own < limits.waitingOfClient else { return .verdict(.busy) }
    entries[check.digest] = Entry(check: check, waiters: [(client, waiter())])
    if own == 0 { turns.append(client) }
    queues[client, default: Deque()].append(check.digest)
    return .waitsForWorker
  }

  /// The next check for the worker. If all who wait for it are barred by now, they are told so instead.
  mutating func next(_ now: MonotonicTime) -> Step? {
    guard let client = turns.popFirst(), let digest = queues[client]?.popFirst() else { return nil }
    if queues[client]?.isEmpty == true { queues[client] = nil } else { turns.append(client) }
    guard let entry = entries[digest] else { return nil }
    let told = entry.waiters.compactMap { client, waiter in
      wrong?.barred(client, now).map { (waiter: waiter, verdict: Verdict.barred(seconds: $0)) }
    }
    guard told.count == entry.waiters.count else { return .hash(entry.check) }
    entries[digest] = nil
    return .told(told)
  }

  /// The verdicts on a check that the worker has done.
  mutating func verified(_ check: PasswordCheck, isRight: Bool, _ now: MonotonicTime) -> Told {
    if isRight { known.insert(check.digest) }
    let waiters = entries.removeValue(forKey: check.digest)?.waiters ?? []
    return waiters.map { client, waiter in (waiter, verdict(isRight, check, client, now)) }
  }

  private mutating func verdict(
    _ isRight: Bool, _ check: PasswordCheck, _ client: IPAddress?, _ now: MonotonicTime
  ) -> Verdict {
    if let seconds = wrong?.barred(client, now) { return .barred(seconds: seconds) }
    if isRight { return .granted(user: check.name) }
    wrong?.note(client, now)
    return .denied
  }
}

extension CredentialChecks: Sendable where Waiter: Sendable {}
extension CredentialChecks.Entry: Sendable where Waiter: Sendable {}

/// The wrong passwords of clients. A client with too many of them is barred until a minute has passed since the first.
/// A value, with the time passed in.
struct WrongPasswords: Sendable {
  struct Limits: Sendable {
    /// The wrong passwords within the window after which a client is barred.
    var count = 10
    /// In seconds, from a client's first wrong password on.
    var window = 60.0
    /// The clients that are remembered. Those whose window began first make place for others.
    var clients = 4096
  }

  private let limits: Limits
  private var windows: [IPAddress?: (end: MonotonicTime, count: Int)] = [:]
  /// The clients in the order in which their windows began, which is that of their ends.
  private var order = Deque<IPAddress?>()

  init(_ limits: Limits) {
    self.limits = limits
  }

  /// The number of clients that are remembered.
  var clientCount: Int { windows.count }

  /// The seconds for which a client is barred; nil if it isn't.
  func barred(_ client: IPAddress?, _ now: MonotonicTime) -> Double? {
    guard let window = windows[client], window.count >= limits.count, now < window.end else { return nil }
    return window.end.seconds(since: now)
  }

  mutating func note(_ client: IPAddress?, _ now: MonotonicTime) {
    while let oldest = order.first, let window = windows[oldest], window.end <= now { forgetOldest() }
    if windows[client] != nil {
      windows[client]?.count += 1
      return
    }
    if windows.count >= limits.clients { forgetOldest() }
    windows[client] = (now.advanced(bySeconds: limits.window), 1)
    order.append(client)
  }

  private mutating func forgetOldest() {
    if let oldest = order.popFirst() { windows[oldest] = nil }
  }
}
