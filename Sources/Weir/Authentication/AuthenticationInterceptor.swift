import Dispatch
import Synchronization
import WeirIO
import WeirTransport

/// Applies a credential to requests and refreshes it once for all of them: before they are sent if the credential says
/// that it needs a refresh, and when a response refuses them.
///
/// Requests that need the new credential wait for it, each until its deadline or its end, and then go on. Refused
/// requests are tried again, which takes nothing from the retry budget. The interceptor sees a refusal only if the
/// request is validated (`validate()`). One interceptor may serve several sessions.
public final class AuthenticationInterceptor<AuthenticatorType: Authenticator>: RequestInterceptor, NamedInterceptor,
  ReadyAdapter
{
  /// The credential that is applied to requests.
  public typealias Credential = AuthenticatorType.Credential

  /// A limit of how many refreshes may begin within a time. Further ones fail with
  /// ``AuthenticationError/excessiveRefresh``. Without a limit, new credentials that are refused too would be refreshed
  /// for ever.
  public struct RefreshWindow: Sendable, Hashable {
    /// The length of the window in seconds, back from now.
    public let interval: TimeInterval
    /// The refreshes that may begin within the window.
    public let maximumAttempts: Int

    /// Creates a limit.
    public init(interval: TimeInterval = 30, maximumAttempts: Int = 5) {
      self.interval = interval
      self.maximumAttempts = maximumAttempts
    }
  }

  typealias Machine = RefreshMachine<Credential, RefreshWaiter>

  /// The interceptor's name in metrics; nil means the name of its type.
  public let name: String?
  private let authenticator: AuthenticatorType
  private let hasWindow: Bool
  /// Whether credentials say when the next one should be fetched.
  private let ages: Bool
  let machine: Mutex<Machine>
  private let owner = RefreshScope.Owner()
  /// The queue on which the authenticator's `refresh` is called; it may block there.
  let queue = DispatchQueue(label: "weir.authentication.refresh")

  /// - Parameters:
  ///   - name: The interceptor's name in metrics; nil means the name of its type.
  ///   - authenticator: Applies and refreshes credentials.
  ///   - credential: The first credential; if nil, requests fail with ``AuthenticationError/missingCredential`` until
  ///     one is set.
  ///   - refreshWindow: How many refreshes may begin within a time; nil means any number.
  public init(
    name: String? = nil, authenticator: AuthenticatorType, credential: Credential? = nil,
    refreshWindow: RefreshWindow? = RefreshWindow()
  ) {
    self.name = name
    self.authenticator = authenticator
    hasWindow = refreshWindow != nil
    let times = refreshWindow.map { RefreshTimes(interval: $0.interval, maximumAttempts: $0.maximumAttempts) }
    ages = Credential.self is any AgeingCredential.Type
    machine = Mutex(Machine(credential: credential, times: times, ages: ages))
  }

  /// The credential that is applied to requests; if nil, they fail with ``AuthenticationError/missingCredential``.
  ///
  /// A credential that is set during a refresh takes precedence over the refresh's result. Waiting requests go on with
  /// it.
  public var credential: Credential? {
    get { machine.withLock { $0.look().credential } }
    set {
      let (action, count) = change { $0.set(newValue) }
      perform(action, count)
    }
  }

  // MARK: Adapting

  /// Nil unless there is a credential that needs no refresh while none is under way, and its fields are known.
  package func readyHeaders(using state: RequestAdapterState) -> HTTPHeaders? {
    guard state.refreshScope?.isPart(of: owner) != true else { return nil }
    let look = machine.withLock { $0.look() }
    guard look.isIdle, let credential = look.credential, need(of: credential) == .none,
      let headers = authenticator.headers(with: credential)
    else { return nil }
    state.request?.noteSecrets(headers)
    return headers
  }

  /// The `Request` is not known here, so a wait for a refresh ends only with the refresh, even if the request has ended
  /// before.
  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    if isRefresh(urlRequest, RefreshScope.current) { return completion(.success(urlRequest)) }
    adapt(urlRequest, of: nil, in: session.context, completion)
  }

  @preconcurrency
  public func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    if isRefresh(urlRequest, state.refreshScope) { return completion(.success(urlRequest)) }
    adapt(urlRequest, of: state.request, in: state.session.context, completion)
  }

  private func isRefresh(_ urlRequest: URLRequest, _ scope: RefreshScope?) -> Bool {
    scope?.isPart(of: owner) == true || authenticator.isRefreshRequest(urlRequest)
  }

  private func adapt(
    _ urlRequest: URLRequest, of request: Request?, in context: SessionContext,
    _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    let look = machine.withLock { $0.look() }
    let need = need(of: look.credential)
    if look.isIdle, need == .none, let credential = look.credential {
      return completion(.success(applying(credential, to: urlRequest, of: request)))
    }
    let answer = PendingAnswer(of: request, completion)
    adapt(urlRequest, in: context, answer, look, need)
  }

  private func need(of credential: Credential?) -> RefreshNeed {
    guard let credential else { return .none }
    if credential.requiresRefresh { return .now }
    return ages && (credential as? any AgeingCredential)?.isAgeing == true ? .soon : .none
  }

  private func adapt(
    _ urlRequest: URLRequest, in context: SessionContext, _ answer: PendingAnswer<Result<URLRequest, any Error>>,
    _ look: Machine.Look, _ need: RefreshNeed
  ) {
    let waiter = RefreshWaiter(context: context, scope: answer.request?.refreshScope) { [weak self] outcome in
      switch outcome {
      case .again where context.isGone: answer(.failure(WeirError.sessionDeinitialized))
      case .proceed, .again: self?.adaptAgain(urlRequest, in: context, answer)
      case .fail(let error): answer(.failure(error))
      case .excessiveRefresh: answer(.failure(AuthenticationError.excessiveRefresh))
      }
    }
    let (decision, count) = change {
      $0.adapt(waiter, seen: look.version, need, at: .now)
    }
    switch decision {
    case .apply(let credential, let call):
      if let call { refresh(call, for: waiter) }
      answer(.success(applying(credential, to: urlRequest, of: answer.request)))
    case .refuse(let error): answer(.failure(error))
    case .wait(let ticket, let call): wait(waiter, answer, ticket, call, count)
    case .missingCredential: answer(.failure(AuthenticationError.missingCredential))
    case .excessiveRefresh:
      tell(context, .ended(after: 0, .excessive), count)
      answer(.failure(AuthenticationError.excessiveRefresh))
    case .lookAgain: adaptAgain(urlRequest, in: context, answer)
    }
  }

  private func adaptAgain(
    _ urlRequest: URLRequest, in context: SessionContext, _ answer: PendingAnswer<Result<URLRequest, any Error>>
  ) {
    guard answer.isOpen else { return }
    let look = machine.withLock { $0.look() }
    adapt(urlRequest, in: context, answer, look, need(of: look.credential))
  }

  /// The request with the credential. The fields that hold it are noted as secrets of `request`.
  private func applying(
    _ credential: Credential, to urlRequest: URLRequest, of request: Request? = nil
  ) -> URLRequest {
    var applied = urlRequest
    authenticator.apply(credential, to: &applied)
    request?.noteSecrets(in: applied, beside: urlRequest)
    return applied
  }

  // MARK: Retrying

  @preconcurrency
  public func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    // A request that a retrier has already refused is asked about again by its handlers; it stays refused.
    guard error.asWeirError?.isRequestRetryError != true,
      let adapted = request.presentRequest, let sent = request.sentRequest,
      let response = request.lazyResponse?.response,
      !isRefresh(adapted, request.refreshScope),
      authenticator.didRequest(sent, with: response, failDueToAuthenticationError: error)
    else { return completion(.doNotRetry) }
    let look = machine.withLock { $0.look() }
    guard let credential = look.credential else {
      return completion(.doNotRetryWithError(AuthenticationError.missingCredential))
    }
    if authenticator.isRequest(sent, authenticatedWith: credential) {
      retry(request, in: session.context, PendingAnswer(of: request, completion), look.version)
    } else if carriesCredential(sent, of: request, like: credential) {
      retry(request, with: look.version, PendingAnswer(of: request, completion))
    } else {
      completion(.doNotRetry)
    }
  }

  /// Whether the request that was refused carried some credential, which the authenticator puts where it puts this one. A
  /// redirect to another origin takes a credential away, and an authenticator may leave requests without one. What is
  /// said to such a request says nothing about the credential.
  private func carriesCredential(_ sent: URLRequest, of request: Request, like credential: Credential) -> Bool {
    guard var bare = request.initialRequest else { return true }
    bare.url = sent.url
    let applied = applying(credential, to: bare)
    if applied.url != bare.url || applied.httpBody != bare.httpBody { return true }
    let fields = (applied.allHTTPHeaderFields ?? [:]).filter { bare.value(forHTTPHeaderField: $0.key) != $0.value }
    return !fields.isEmpty && fields.keys.allSatisfy { sent.value(forHTTPHeaderField: $0) != nil }
  }

  private func retry(
    _ request: Request, in context: SessionContext, _ answer: PendingAnswer<RetryResult>, _ seen: Machine.Version
  ) {
    let waiter = RefreshWaiter(context: context, scope: request.refreshScope) { [weak self] outcome in
      switch outcome {
      case .proceed(let version): self?.retry(request, with: version, answer)
      case .fail(let error): answer(.doNotRetryWithError(error))
      case .excessiveRefresh: answer(.doNotRetryWithError(AuthenticationError.excessiveRefresh))
      case .again where context.isGone: answer(.doNotRetryWithError(WeirError.sessionDeinitialized))
      case .again: if answer.isOpen { self?.retry(request, in: context, answer, seen) }
      }
    }
    let (decision, count) = change { $0.retry(waiter, seen: seen, at: .now) }
    switch decision {
    case .retry(let version): retry(request, with: version, answer)
    case .wait(let ticket, let call): wait(waiter, answer, ticket, call, count)
    case .refuse(let error):
      answer(.doNotRetryWithError(error is ExcessiveRefresh ? AuthenticationError.excessiveRefresh : error))
    case .missingCredential: answer(.doNotRetryWithError(AuthenticationError.missingCredential))
    case .excessiveRefresh:
      tell(context, .ended(after: 0, .excessive), count)
      answer(.doNotRetryWithError(AuthenticationError.excessiveRefresh))
    }
  }

  private func retry(
    _ request: Request, with version: Machine.Version, _ answer: PendingAnswer<RetryResult>
  ) {
    // A request gets one free retry per credential. Without a window credentials are unbounded, so all count as one.
    let credential = RefreshedCredential(interceptor: ObjectIdentifier(owner), version: hasWindow ? version : 0)
    request.note(.retry(after: 0, source: .backoff, credential: credential))
    answer(.retry)
  }

  // MARK: Steps

  /// Passes an input to the machine, and returns how many requests wait after it. User values that the machine drops are
  /// released after the lock.
  private func change<Answer>(_ input: (inout Machine) -> Answer) -> (Answer, count: Int) {
    let (answer, count, belongings) = machine.withLock { machine in
      let belongings = machine.belongings
      return (input(&machine), machine.waiterCount, belongings)
    }
    withExtendedLifetime(belongings) {}
    return (answer, count)
  }

  private func wait<Value>(
    _ waiter: RefreshWaiter, _ answer: PendingAnswer<Value>, _ ticket: Machine.Ticket, _ call: Machine.Call?,
    _ count: Int
  ) {
    tell(waiter.context, .waiting(change: 1), count)
    answer.whenAbandoned { [weak self] in self?.leave(ticket) }
    if let call { refresh(call, for: waiter) }
  }

  private func leave(_ ticket: Machine.Ticket) {
    let (left, count) = change { $0.leave(ticket) }
    if let left { tell(left.context, .waiting(change: -1), count) }
  }

  // MARK: Calls of the authenticator, and the consequences of their ends

  /// Asks the authenticator for a new credential, on behalf of a waiting request.
  private func refresh(_ call: Machine.Call, for waiter: RefreshWaiter) {
    let context = waiter.context
    queue.async { [self] in
      let began = MonotonicTime.now
      // An authenticator may keep this closure for any time, so it must keep nothing else alive.
      let end: @Sendable (Result<Credential, any Error>) -> Void = { [weak self, weak context] result in
        self?.ended(call, result, after: MonotonicTime.now.seconds(since: began), context)
      }
      guard let session = context.session, !session.isOver else { return withdraw(call) }
      tell(context, .began, machine.withLock { $0.waiterCount })
      RefreshScope.$current.withValue(RefreshScope(of: owner, within: waiter.scope)) {
        authenticator.refresh(call.credential, for: session, completion: end)
      }
    }
  }

  private func withdraw(_ call: Machine.Call) {
    let (action, count) = change { $0.withdrew(call.number, at: .now) }
    perform(action, count)
  }

  /// Called on any thread, also within the authenticator's `refresh`, and perhaps more than once.
  private func ended(
    _ call: Machine.Call, _ result: Result<Credential, any Error>, after duration: TimeInterval,
    _ context: SessionContext?
  ) {
    var result = result
    // A credential that ages is refreshed any number of times, so one that is of no use would be at once, and for ever.
    if ages, let new = try? result.get(), new.requiresRefresh {
      result = .failure(AuthenticationError.expiredCredential)
    }
    var discards = false
    if case .failure(let error) = result, machine.withLock({ $0.isWanted(call.number) }) {
      discards = authenticator.shouldDiscard(call.credential, afterRefreshFailure: error)
    }
    let ((hasEnded, action), count) = change { machine in
      let hadBegun = machine.isRunning(call.number)
      let action = machine.ended(
        call.number, result, discards: discards, retryAfter: (result.failure as? OAuth2Error)?.retryAfter,
        random: .random(in: 0...1), at: .now)
      return (hadBegun, action)
    }
    if hasEnded, let context {
      tell(context, .ended(after: duration, result.failure == nil ? .success : .failure), count)
    }
    perform(action, count)
  }

  private func perform(_ action: Machine.Action, _ count: Int) {
    switch action {
    case .none: break
    case .refresh(let call, let waiter): refresh(call, for: waiter)
    case .release(let waiters, let outcome):
      if case .excessiveRefresh = outcome, let context = waiters.first?.context {
        tell(context, .ended(after: 0, .excessive), count)
      }
      release(waiters, outcome, count)
    }
  }

  /// Each waiter continues on its session's loop. Adapters and retriers run next; they must not run in the middle of a
  /// refresh, nor on the thread that has set a credential.
  private func release(_ waiters: [RefreshWaiter], _ outcome: RefreshOutcome, _ count: Int) {
    for waiter in waiters {
      tell(waiter.context, .waiting(change: -1), count)
      waiter.context.loop.post { waiter.go(outcome) }
    }
  }

  // MARK: Events

  /// Tells the monitors of the session that the event is about.
  private func tell(_ context: SessionContext, _ kind: RefreshEvent.Kind, _ waiters: Int) {
    guard context.monitors.wants(.refreshes) else { return }
    let event = RefreshEvent(interceptor: name ?? String(describing: Self.self), kind: kind, waiters: waiters)
    context.loop.post { context.monitors.session(context.sessionOrRemains, refresh: event) }
  }
}

/// A request that waits for a refresh.
struct RefreshWaiter: Sendable {
  let context: SessionContext
  /// The refreshes that the request is a part of.
  let scope: RefreshScope?
  let go: @Sendable (RefreshOutcome) -> Void
}

extension RequestAdapterState {
  fileprivate var refreshScope: RefreshScope? { if let request { request.refreshScope } else { RefreshScope.current } }
}
