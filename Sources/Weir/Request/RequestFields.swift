import Dispatch
import WeirIO

/// What any thread may read or change of a request; kept under the request's lock.
struct RequestFields {
  var machine = RequestMachine()
  /// The attempts before the present one.
  private var earlier: [Attempt] = []
  /// Those beside the present one, whether they race with it or have lost.
  private var rivals: [Attempt] = []
  /// The present attempt, nil before the first. Apart from the others, since mostly this one alone changes.
  var attempt: Attempt?
  var retryCount = 0
  var retryReason: RetryReason?
  /// What the retrier that answers now decided by.
  var notedDecision: RetryDecision?
  /// Answers that somebody works on: they hear of the request's end.
  var pendingAnswers: [any Abandonable] = []
  /// New credentials with which the request was tried again for free.
  private var freeRetries: [RefreshedCredential] = []
  var error: WeirError?
  /// The outcome, once settled.
  var outcome: RequestOutcome?
  var data: Data?
  /// By the first URL request; nil when that could not be built.
  var destination: Destination?
  var method: String?
  /// When setup began, and when the request settled.
  var began: MonotonicTime?
  var ended: MonotonicTime?
  var serializationDuration: TimeInterval?
  var handlers: [ResponseHandler] = []
  /// Whether handlers that came after the outcome are being served.
  var servesLateHandlers = false
  var validators: [Validator] = []
  var interceptor: (any RequestInterceptor)?
  var monitors: CompositeEventMonitor
  /// Nil before setup began.
  var times: RequestTimes?
  var redirectHandler: (any RedirectHandler)?
  var cachedResponseHandler: (any CachedResponseHandler)?
  /// Nil: the session is asked.
  var ownDelegate: OwnDelegate?
  var credential: URLCredential?
  var observers = RequestObservers()
  var lane = HandlerLane()
  /// Made when the caller asks for it; the lane's handlers run there then.
  var deliveryQueue: DispatchQueue?
  /// Seconds from `resume()`; nil: the session's.
  var deadline: TimeInterval?
  /// The request's own; nil: the session's. Of what it is, nil is unlimited.
  var retryBudget: RetryBudget??

  /// Seconds, and how many; nil: no second attempt starts beside a slow one.
  var hedge: HedgePlan?

  /// In their order, but for the present one, which is last.
  var attempts: [Attempt] { attempt.map { earlier + rivals + [$0] } ?? [] }

  /// Attempts that were put on the wire.
  var startedCount: Int {
    earlier.count { $0.isStarted } + rivals.count { $0.isStarted } + (attempt?.isStarted == true ? 1 : 0)
  }

  /// Begins an attempt after those there were; true for the first.
  mutating func beginAttempt() -> Bool {
    guard let present = attempt else {
      attempt = Attempt(number: 1)
      return true
    }
    attempt = Attempt(number: nextNumber)
    earlier += rivals
    rivals = []
    earlier.append(present)
    return false
  }

  /// Begins an attempt beside the present one.
  mutating func beginRival(initial: URLRequest, adapted: URLRequest?) -> Int {
    let number = nextNumber
    rivals.append(Attempt(number: number, initial: initial, adapted: adapted))
    return number
  }

  /// Changes the attempt of this number, the present one or one beside it.
  mutating func change(_ number: Int, _ change: (inout Attempt?) -> Void) {
    if attempt?.number == number { return change(&attempt) }
    guard let index = rivals.firstIndex(where: { $0.number == number }) else { return }
    var rival: Attempt? = rivals[index]
    change(&rival)
    if let rival { rivals[index] = rival }
  }

  /// Makes a rival the present attempt, which takes its place.
  mutating func show(_ number: Int) {
    guard let index = rivals.firstIndex(where: { $0.number == number }), let present = attempt else { return }
    attempt = rivals.remove(at: index)
    rivals.append(present)
  }

  /// Behind the present attempt's, and those of all others.
  private var nextNumber: Int { earlier.count + rivals.count + 2 }

  /// Sets the error and returns the one before, which is the caller's and must not go under the lock.
  mutating func exchange(error: WeirError?) -> WeirError? {
    defer { self.error = error }
    return self.error
  }

  /// The answers that are of no use any more.
  mutating func takePendingAnswers() -> [any Abandonable] {
    defer { pendingAnswers = [] }
    return pendingAnswers
  }

  /// Whether a retry with this credential is free: once.
  mutating func takeFreeRetry(with credential: RefreshedCredential) -> Bool {
    if freeRetries.contains(credential) { return false }
    freeRetries.append(credential)
    return true
  }

  /// The first handlers, as many as there are values of; later ones came too late for this delivery.
  mutating func takeHandlers(_ count: Int) -> [ResponseHandler] {
    let all = handlers
    guard all.count > count else {
      handlers = []
      return all
    }
    handlers = Array(all.dropFirst(count))
    return Array(all.prefix(count))
  }

  /// One run through the pipeline, from the URL request to the task's end.
  struct Attempt {
    /// 1 for the first.
    let number: Int
    var initial: URLRequest?
    var adapted: URLRequest?
    var task: TransferTask?
    var metrics: TransferMetrics?
    /// Whether it was put on the wire.
    var isStarted = false

    var urlRequest: URLRequest? { adapted ?? initial }
  }

  init(monitors: CompositeEventMonitor, interceptor: (any RequestInterceptor)?) {
    self.monitors = monitors
    self.interceptor = interceptor
  }

  /// Marks the beginning and what the request counts for, once: later attempts change neither.
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

  var presentTask: TransferTask? { attempt?.task }

  /// What the last attempt that has such a value has.
  func last<Value>(_ value: (Attempt) -> Value?) -> Value? {
    attempt.flatMap(value) ?? attempts.last { value($0) != nil }.flatMap(value)
  }

  /// The error that no serializer has a say in: the request was cancelled, or ended or turned away from outside.
  var verdict: WeirError? {
    if machine.state == .cancelled { return .explicitlyCancelled }
    return machine.isBeyondRetry ? error : nil
  }
}

/// When the stages of a request's last attempt began.
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

  /// In seconds since the reference date.
  func date(_ time: MonotonicTime) -> TimeInterval {
    startDate + time.seconds(since: start)
  }
}
