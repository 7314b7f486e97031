import Dispatch
import WeirIO

/// The part of a request's state that any thread may read or change, under the request's lock.
struct RequestFields {
  var machine = RequestMachine()
  /// The place of the request's pipeline in its session's core; nil while it has none there.
  var place: Int?
  /// The attempts before the present one, in order.
  private var earlier: [AttemptFields] = []
  /// The attempts beside the present one: those that race with it and those that have lost.
  private var rivals: [AttemptFields] = []
  /// The present attempt; nil before the first. It is kept apart because usually only this attempt changes.
  var attempt: AttemptFields?
  var retryCount = 0
  var retryReason: RetryReason?
  /// Nil if its attempts are not recorded, or not yet.
  var recordedTrace: RecordedTrace?
  /// Whether the last attempt's endpoint is left out, as its answer asked for that.
  var hasLeftEndpointOut = false
  /// The decision noted by the retrier that is about to answer.
  var notedDecision: RetryDecision?
  /// The answers that other code has still to give; they are abandoned when the request ends.
  var pendingAnswers: [any Abandonable] = []
  /// The new credentials with which the request was already retried for free.
  private var freeRetries: [RefreshedCredential] = []
  var error: WeirError?
  var outcome: RequestOutcome?
  var data: Data?
  /// The destination of the first URL request; nil if that could not be built.
  var destination: Destination?
  var method: String?
  /// The time when setup began; `ended` is the time when the request settled.
  var began: MonotonicTime?
  var ended: MonotonicTime?
  var serializationDuration: TimeInterval?
  var handlers: [ResponseHandler] = []
  /// Whether handlers that came after the outcome are being served.
  var servesLateHandlers = false
  var validators: [Validator] = []
  var interceptor: (any RequestInterceptor)?
  var monitors: CompositeEventMonitor
  /// Nil before setup has begun.
  var times: RequestTimes?
  var redirectHandler: (any RedirectHandler)?
  var cachedResponseHandler: (any CachedResponseHandler)?
  /// Nil: the session's delegate is asked.
  var ownDelegate: OwnDelegate?
  var credential: URLCredential?
  /// Nil before the caller sets the first, and once the request has settled.
  var observers: RequestObservers?
  var lane = HandlerLane()
  /// Made when the caller asks for it. From then on the lane's handlers run on it.
  var deliveryQueue: DispatchQueue?
  /// Seconds from `resume()`; nil: the session's default.
  var deadline: TimeInterval?
  /// Seconds for each attempt, none if not more than 0; nil: the session's default.
  var attemptTimeout: TimeInterval?
  /// Nil if the caller gave it no name.
  var operation: NamedOperation?
  /// The names of fields that adapters have filled with secrets. A redirect that leaves the origin takes them off, and
  /// descriptions hide their values.
  var secretFields: Set<String> = []
  /// Whether the session's interceptor and secrets are left out.
  var leavesSessionOut = false
  /// The request's own limit of a body in bytes; nil: the session's.
  var maximumResponseSize: Int64?
  /// The request's own budget; nil: the session's. An inner nil means no budget.
  var retryBudget: RetryBudget??

  /// The delay and the number of second attempts; nil: none starts beside a slow attempt.
  var hedge: HedgePlan?

  /// All attempts in order, except that the present one is last.
  var attempts: [AttemptFields] { attempt.map { earlier + rivals + [$0] } ?? [] }

  var startedCount: Int {
    earlier.count { $0.isStarted } + rivals.count { $0.isStarted } + (attempt?.isStarted == true ? 1 : 0)
  }

  /// Begins the machine's present attempt, after the earlier ones.
  mutating func beginAttempt() {
    machine.begins()
    earlier += rivals
    rivals = []
    if let attempt { earlier.append(attempt) }
    attempt = AttemptFields(number: machine.exchange.present)
  }

  /// Begins an attempt beside the present one.
  mutating func beginRival(_ number: Int, initial: HopRequest, adapted: HopRequest?) {
    rivals.append(AttemptFields(number: number, initial: initial, adapted: adapted))
  }

  /// The attempt with this number: the present one or one beside it.
  func attempt(_ number: Int) -> AttemptFields? {
    attempt?.number == number ? attempt : rivals.first { $0.number == number }
  }

  /// Changes the attempt with this number: the present one or one beside it.
  mutating func change(_ number: Int, _ change: (inout AttemptFields?) -> Void) {
    if attempt?.number == number { return change(&attempt) }
    guard let index = rivals.firstIndex(where: { $0.number == number }) else { return }
    var rival: AttemptFields? = rivals[index]
    change(&rival)
    if let rival { rivals[index] = rival }
  }

  /// Makes a rival the present attempt; the former present attempt becomes a rival.
  mutating func show(_ number: Int) {
    guard let index = rivals.firstIndex(where: { $0.number == number }), let present = attempt else { return }
    attempt = rivals.remove(at: index)
    rivals.append(present)
  }

  /// Sets the error and returns the former one. The caller releases that outside the lock, as its `deinit` may be user
  /// code.
  mutating func exchange(error: WeirError?) -> WeirError? {
    defer { self.error = error }
    return self.error
  }

  mutating func madeObservers() -> RequestObservers {
    if let observers { return observers }
    let made = RequestObservers()
    observers = made
    return made
  }

  mutating func takePendingAnswers() -> [any Abandonable] {
    defer { pendingAnswers = [] }
    return pendingAnswers
  }

  /// Whether a retry with this credential is free. True once for each credential.
  mutating func takeFreeRetry(with credential: RefreshedCredential) -> Bool {
    if freeRetries.contains(credential) { return false }
    freeRetries.append(credential)
    return true
  }

  /// Takes the first `count` handlers, one for each value; later ones came too late for this delivery.
  mutating func takeHandlers(_ count: Int) -> [ResponseHandler] {
    let all = handlers
    guard all.count > count else {
      handlers = []
      return all
    }
    handlers = Array(all.dropFirst(count))
    return Array(all.prefix(count))
  }

  /// The URL requests, the task and the metrics that stay of an attempt.
  struct AttemptFields {
    /// The attempt's number, 1 for the first.
    let number: Int
    var initial: HopRequest?
    var adapted: HopRequest?
    var task: TransferTask?
    var metrics: TransferMetrics?
    /// Whether the attempt was put on the wire.
    var isStarted = false

    var hop: HopRequest? { adapted ?? initial }
  }

  init(monitors: CompositeEventMonitor, interceptor: (any RequestInterceptor)?) {
    self.monitors = monitors
    self.interceptor = interceptor
  }

  /// Notes the beginning, the destination and the method once; later attempts change none of them.
  ///
  /// - Returns: Whether this was the beginning.
  mutating func begin(with destination: Destination?, method: String?) -> Bool {
    guard began == nil else { return false }
    began = times?.start ?? .now
    self.destination = destination
    self.method = method
    return true
  }

  /// Whether the last attempt's URL request has passed the adapters, or could not be made.
  var isURLRequestFinal: Bool { attempt.map { $0.task != nil || $0.initial != nil && error != nil } ?? false }

  /// A comparison with nil would copy the interceptor.
  var hasInterceptor: Bool { if case .none = interceptor { false } else { true } }

  var presentTask: TransferTask? { attempt?.task }

  /// The value of the last attempt that has one.
  func last<Value>(_ value: (AttemptFields) -> Value?) -> Value? {
    attempt.flatMap(value) ?? attempts.last { value($0) != nil }.flatMap(value)
  }

  /// The error that is final without a serializer: the request was cancelled, ended from outside or rejected.
  var verdict: WeirError? {
    if machine.state == .cancelled { return .explicitlyCancelled }
    return machine.isBeyondRetry ? error : nil
  }
}

/// The times at which the stages of a request's last attempt began.
struct RequestTimes: Sendable {
  /// The date of `start`, in seconds since the reference date; the other dates follow from it, so that a step of the
  /// wall clock can't make a duration negative.
  private(set) var startDate = Date.timeIntervalSinceReferenceDate
  private(set) var start = MonotonicTime.now
  var initialResponse: MonotonicTime?
  var completed: MonotonicTime?

  func timeline(serializationCompleted: MonotonicTime) -> Timeline {
    let completed = completed ?? serializationCompleted
    return Timeline(
      requestStartTime: startDate, initialResponseTime: date(initialResponse ?? completed),
      requestCompletedTime: date(completed), serializationCompletedTime: date(serializationCompleted))
  }

  /// The date of `time` in seconds since the reference date.
  func date(_ time: MonotonicTime) -> TimeInterval {
    startDate + time.seconds(since: start)
  }
}
