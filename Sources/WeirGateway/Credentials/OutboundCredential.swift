import Synchronization
import Weir
import WeirHTTP
import WeirIO
import WeirTransport

/// A credential with which requests leave, as all workers share it. Its value is in a file or in the configuration, or it
/// is a token, which is fetched here.
final class OutboundCredential: Sendable {
  typealias Machine = RefreshMachine<OAuth2Token, Waiter>

  /// A request that waits for a token.
  struct Waiter: Sendable {
    let loop: EventLoop
    let go: @Sendable (RefreshOutcome) -> Void
  }

  /// The answer to a request that is about to be sent.
  enum Answer {
    case ready
    case wait(Machine.Ticket)
    case refuse(CredentialRefusal)
  }

  /// The answer to a request whose credential the upstream has refused.
  enum Repair {
    /// The value has changed since.
    case again
    case wait(Machine.Ticket)
    /// There will be no other one.
    case none
  }

  private struct State {
    var settings: CredentialSettings
    /// Nil unless tokens are fetched.
    var source: TokenSource?
    var machine: Machine
    /// Why the last fetch has failed; nil if it has not.
    var failure: OAuth2Error?
    /// The version of the secrets with which the last fetch began.
    var secrets: UInt64 = 0
    /// Whether the settings have changed during a fetch.
    var isOutdated = false
    var notes = CredentialNotes()
    var refusals = UpstreamRefusals()
  }

  /// How tokens are fetched.
  struct TokenSource: Sendable {
    let authenticator: OAuth2Authenticator
    let session: Session
  }

  let name: String
  /// The name of the field that it writes.
  let field: [UInt8]
  /// The longest time in seconds for which a request waits for it.
  let wait: Double
  private let events: CredentialEvents
  private let state: Mutex<State>
  /// Changes with each token, and when one becomes stale.
  private let changes = Atomic<UInt64>(1)
  private let hasRefusals = Atomic(false)
  private let isRetired = Atomic(false)
  /// The value, unless it is a token.
  private let secret: Secret?
  /// Whether it is a token, and the file of a value. Kept apart, as they are asked for with each request.
  private let isFetched: Bool
  private let file: SecretFile?
  /// The value that proxies get, with its stamp.
  let proxyValue = Mutex<(stamp: UInt64, octets: [UInt8]?)>((0, nil))

  /// - Parameter source: How tokens are fetched; nil for a value that is there.
  init(_ settings: CredentialSettings, _ source: TokenSource?, _ events: CredentialEvents) {
    name = settings.name
    field = Array(settings.field.utf8)
    self.events = events
    var wait = 0.0
    switch settings.kind {
    case .oauth2(_, _, _, let seconds):
      wait = seconds
      secret = nil
    case .field(_, let secret), .basic(_, let secret), .bearer(let secret): self.secret = secret
    }
    self.wait = wait
    isFetched = secret == nil
    file = secret?.file
    let times = RefreshTimes(interval: 30, maximumAttempts: 5)
    state = Mutex(
      State(
        settings: settings, source: source, machine: Machine(credential: OAuth2Token.absent, times: times, ages: true)))
  }

  var settings: CredentialSettings { state.withLock { $0.settings } }

  /// Asks for tokens on another way from now on.
  func follow(_ source: TokenSource?) { state.withLock { $0.source = source } }

  /// Takes settings that differ in secrets alone. The present token serves until there is one by the new ones.
  func follow(_ settings: CredentialSettings, _ source: TokenSource?) {
    state.withLock { state in
      state.settings = settings
      state.source = source
      state.isOutdated = state.machine.isRefreshing
      state.machine.endSilence()
    }
    fetch()
  }

  /// The configuration has it no more: metrics tell nothing of it from now on.
  func retire() {
    state.withLock { state in
      tell(.waiting(change: -state.machine.waiterCount))
      isRetired.store(true, ordering: .relaxed)
    }
  }

  private func tell(_ kind: RefreshEvent.Kind) {
    if !isRetired.load(ordering: .relaxed) { events.tell(name, kind) }
  }

  // MARK: The value

  /// A value of the field.
  struct Value {
    let octets: [UInt8]
    /// A number that changes with the value; 0 without one.
    let version: UInt64
    /// Until when it may be used without asking again, unless the stamp changes.
    let until: MonotonicTime
  }

  /// A number that changes with the value, and when it becomes stale. One atomic load. What is read after it is at least
  /// as new.
  var stamp: UInt64 { isFetched ? changes.load(ordering: .acquiring) : (file?.version ?? 0) &+ 1 }

  func value() -> Value {
    if let secret {
      let version = secret.version &+ 1
      return Value(octets: Self.octets(of: secret, settings.kind), version: version, until: .distantFuture)
    }
    return state.withLock { state in
      let look = state.machine.look(), token = look.credential ?? .absent
      return Value(
        octets: Array("Bearer \(token.accessToken)".utf8), version: look.version,
        until: state.machine.isStale ? MonotonicTime(nanoseconds: 0) : token.refreshFrom)
    }
  }

  private static func octets(of secret: Secret, _ kind: CredentialSettings.Kind) -> [UInt8] {
    switch kind {
    case .basic(let user, _): Array("Basic \(Data(user.utf8 + [.colon] + secret.octets).base64EncodedString())".utf8)
    case .bearer: Array("Bearer ".utf8) + secret.octets
    case .field, .oauth2: secret.octets
    }
  }

  /// Whether the value may be sent at `now`, if it is a token: checks don't fetch one.
  func isGood(at now: MonotonicTime) -> Bool {
    secret != nil || state.withLock { ($0.machine.look().credential ?? .absent).expires > now }
  }

  // MARK: Requests

  /// A request is about to be sent, and the token is to be fetched, or soon will be.
  func adapt(at now: MonotonicTime, _ waiter: Waiter) -> Answer {
    if secret != nil { return .ready }
    let (answer, refusal) = state.withLock { state -> (Machine.AdaptAnswer, CredentialRefusal?) in
      // Other secrets may be good.
      if state.failure != nil, state.settings.secretVersion != state.secrets { state.machine.endSilence() }
      let look = state.machine.look()
      let answer = state.machine.adapt(waiter, seen: look.version, Self.need(of: look.credential, at: now), at: now)
      if case .wait = answer { tell(.waiting(change: 1)) }
      guard case .refuse(let error) = answer else { return (answer, nil) }
      return (answer, self.refusal(error, state.machine, at: now))
    }
    switch answer {
    case .apply(_, let call):
      begin(call)
      return .ready
    case .wait(let ticket, let call):
      begin(call)
      return .wait(ticket)
    case .refuse, .missingCredential, .excessiveRefresh, .lookAgain:
      return .refuse(refusal ?? lateness(at: now))
    }
  }

  /// The upstream has refused a request that carried this version.
  func repair(_ version: UInt64, at now: MonotonicTime, _ waiter: Waiter) -> Repair {
    if secret != nil { return version == value().version ? .none : .again }
    let answer = state.withLock { state in
      let need = Self.need(of: state.machine.look().credential, at: now)
      let answer = state.machine.retry(waiter, seen: version, need, at: now)
      if case .wait = answer { tell(.waiting(change: 1)) }
      return answer
    }
    switch answer {
    case .retry: return .again
    case .wait(let ticket, let call):
      begin(call)
      return .wait(ticket)
    case .excessiveRefresh:
      tell(.ended(after: 0, .excessive))
      return .none
    case .refuse, .missingCredential: return .none
    }
  }

  /// The same for a request that can't be sent again, or is a check. Returns whether another value comes, or has come.
  @discardableResult
  func refused(_ version: UInt64, at now: MonotonicTime) -> Bool {
    if secret != nil { return version != value().version }
    let (call, comes) = state.withLock { state in
      let call = state.machine.refuse(seen: version, at: now)
      return (call, state.machine.isRefreshing || state.machine.look().version != version)
    }
    begin(call)
    return comes
  }

  /// A request waits no longer.
  func leave(_ ticket: Machine.Ticket) {
    state.withLock { state in
      if state.machine.leave(ticket) != nil { tell(.waiting(change: -1)) }
    }
  }

  private static func need(of token: OAuth2Token?, at now: MonotonicTime) -> RefreshNeed {
    guard let token, token.expires > now else { return .now }
    return token.refreshFrom > now ? .none : .soon
  }

  /// The refusal of a request for which there is no token, with the seconds until there may be one.
  func refusal(_ error: any Error, at now: MonotonicTime = .now) -> CredentialRefusal {
    state.withLock { refusal(error, $0.machine, at: now) }
  }

  /// The refusal of a request that has waited for as long as it may.
  func lateness(at now: MonotonicTime) -> CredentialRefusal { refusal(OAuth2Error.late, at: now) }

  private func refusal(_ error: any Error, _ machine: Machine, at now: MonotonicTime) -> CredentialRefusal {
    let known = error as? OAuth2Error
    return CredentialRefusal(
      credential: name, reason: known?.reason ?? .error, text: known?.text ?? "\(error)",
      retryAfter: machine.silenceLeft(at: now))
  }

  /// A request was refused, for want of a token.
  func noteRefused(_ refusal: CredentialRefusal, at now: MonotonicTime = .now) {
    if let count = state.withLock({ $0.notes.refused(at: now) }) { events.requestsRefused(refusal, count: count) }
  }

  /// The status of a response that goes to its client, of a request that carried the credential.
  func noteAnswer(_ status: Int) {
    let isRefusal = status == 401 || status == 403
    guard isRefusal || hasRefusals.load(ordering: .relaxed) else { return }
    state.withLock { $0.refusals.note(isRefusal ? status : nil, at: .now) }
    hasRefusals.store(isRefusal, ordering: .relaxed)
  }

  // MARK: Fetching

  /// Fetches a token that nobody waits for, unless one is being fetched, or can't be yet.
  func fetch(at now: MonotonicTime = .now) {
    if secret == nil { begin(state.withLock { $0.machine.fetch(at: now) }) }
  }

  private func begin(_ call: Machine.Call?) {
    guard let call else { return }
    changes.add(1, ordering: .releasing)
    tell(.began)
    let began = MonotonicTime.now
    Task { [self] in
      let result: Result<OAuth2Token, any Error>
      let source = state.withLock { state in
        state.secrets = state.settings.secretVersion
        return state.source
      }
      if let source {
        do {
          result = .success(try await source.authenticator.refresh(call.credential, for: source.session))
        } catch {
          result = .failure(error)
        }
      } else {
        result = .failure(OAuth2Error.late)
      }
      ended(call, result, after: MonotonicTime.now.seconds(since: began))
    }
  }

  private func ended(_ call: Machine.Call, _ result: Result<OAuth2Token, any Error>, after seconds: Double) {
    let now = MonotonicTime.now
    var failure: OAuth2Error?
    if case .failure(let error) = result { failure = error as? OAuth2Error ?? OAuth2Error(error) }
    let (action, isNews, silence, rest, isOutdated) = state.withLock { state in
      let action = state.machine.ended(
        call.number, result, discards: false, retryAfter: failure?.retryAfter, random: .random(in: 0...1), at: now)
      if case .release(let waiters, _) = action { tell(.waiting(change: -waiters.count)) }
      let wasFailing = state.failure != nil
      state.failure = failure
      let isNews = failure == nil ? wasFailing && state.notes.recovered(at: now) : state.notes.failed(at: now)
      defer { state.isOutdated = false }
      if state.isOutdated { state.machine.endSilence() }
      let rest = (state.machine.look().credential ?? .absent).expires.seconds(since: now)
      return (action, isNews, state.machine.silenceLeft(at: now), max(0, rest), state.isOutdated)
    }
    changes.add(1, ordering: .releasing)
    tell(.ended(after: seconds, failure == nil ? .success : .failure))
    if isOutdated { fetch(at: now) }
    if isNews {
      if let failure {
        events.failed(name, failure, expiresIn: rest, silence: silence)
      } else {
        events.recovered(name)
      }
    }
    guard case .release(let waiters, let outcome) = action else { return }
    for waiter in waiters { waiter.loop.post { waiter.go(outcome) } }
  }

  // MARK: For people

  /// Whether the first token is there, or could not be fetched.
  var isSettled: Bool {
    secret != nil || state.withLock { $0.machine.look().version > 0 || $0.failure != nil }
  }

  private static func text(of sentences: [String]) -> String? {
    let texts = sentences.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 }
    return texts.isEmpty ? nil : texts.joined(separator: "; ")
  }

  func report(at now: MonotonicTime = .now) -> CredentialReport {
    state.withLock { state in
      let refusals = state.refusals.text(at: now)
      guard secret == nil else {
        // The problem of a file is told of with its key.
        let isGood = secret?.file?.problem == nil
        return CredentialReport(name: name, state: isGood ? .good : .failing, failure: refusals, waiting: 0)
      }
      let look = state.machine.look()
      let token = look.credential ?? .absent
      let isGood = token.expires > now
      // One that has expired unused is fetched when it is used.
      let isIdle = !isGood && look.version > 0 && state.failure == nil
      return CredentialReport(
        name: name, state: !isGood && !isIdle ? .missing : state.failure == nil ? .good : .failing,
        expiresIn: isGood ? token.expires.seconds(since: now) : nil,
        failure: Self.text(of: [state.failure?.text, refusals].compactMap(\.self)),
        waiting: state.machine.waiterCount)
    }
  }
}

extension CredentialSettings {
  /// A number that changes with the content of the files that a request for a token is made of.
  fileprivate var secretVersion: UInt64 {
    guard case .oauth2(let settings, _, _, _) = kind else { return 0 }
    var secrets = Array(settings.parameters.values)
    switch settings.authentication {
    case .basic(let secret), .post(let secret), .assertion(let secret): secrets.append(secret)
    default: break
    }
    switch settings.grant {
    case .jwtBearer(let secret), .tokenExchange(let secret, _): secrets.append(secret)
    default: break
    }
    return secrets.reduce(0) { $0 &+ $1.version }
  }
}
