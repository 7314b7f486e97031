import Synchronization
import WeirHTTP
import WeirIO

/// The steps in which a client's request differs from other exchanges. Its machine is under the request's lock.
extension RequestPipeline: ExchangeRun {
  var machine: ExchangeMachine { decide { $0.exchange } }

  @inline(__always)
  func change<Answer>(_ input: (inout ExchangeMachine) -> Answer) -> Answer { decide { $0.change(input) } }

  func admit() { attempt?.admit() }

  func cancelAttempt() { attempt?.cancel() }

  func settle() { perform(decide { $0.exchangeIsOver() }) }

  // MARK: Second attempts

  var mayRunTwice: Bool {
    let (initial, isWanted) = request.fields.withLock {
      ($0.attempt?.initial, $0.machine.isTransferring && !$0.machine.isSuspended)
    }
    return isWanted && initial.map(mayRunTwice) ?? false
  }

  /// Whether two attempts at once have the same effect as one, and each has a body of its own.
  private func mayRunTwice(_ hop: HopRequest) -> Bool {
    guard request.mayRunTwice, RequestMethods.idempotent.contains(hop.method), bodyStream == nil else { return false }
    switch request.makeBody(of: hop) {
    case .none, .data, .file: return true
    case .stream: return false
    }
  }

  /// Adapts the initial request once more. If the adapters fail, the request continues without a second attempt.
  func prepareRival() {
    let (initial, step, attempts) = request.fields.withLock {
      ($0.attempt?.initial, $0.machine.step, $0.machine.exchange.attempts)
    }
    guard let initial else { return }
    let adapters = core.adapters(of: request)
    guard !adapters.isEmpty else { return startRival(initial, adapted: nil) }
    adapt(initial, by: adapters, as: attempts + 1, step) { pipeline, result, step in
      guard case .success(let adapted) = result, pipeline.decide({ $0.isWaiting(in: step) }) else { return }
      pipeline.startRival(initial, adapted: adapted)
    }
  }

  private func startRival(_ initial: HopRequest, adapted: HopRequest?) {
    let hop = adapted ?? initial
    guard !decide({ $0.isSuspended }), mayRunTwice(hop) else { return }
    startRival { number, keep in
      request.fields.withLock { $0.beginRival(number, initial: initial, adapted: adapted) }
      makeTask(for: hop, rival: number, keep)
    }
  }

  func shows(_ attempt: TaskRunner) { request.fields.withLock { $0.show(attempt.number) } }

  func abandon(_ rival: TaskRunner) {
    rival.notes?.facts.isAbandoned = true
    rival.lose(rival.urlError(.cancelled, "the attempt is of no use any more"))
  }

  // MARK: Retries

  /// The decision after a failure: the retriers are asked, and their wish is judged.
  func askForVerdict() {
    let (error, step) = request.fields.withLock { (askedError($0), $0.machine.step) }
    if request.isAnswered { return perform(change { $0.decided(nil) }) }
    if let error, decide({ $0.stage == .deciding }), let decision = attempt?.attempt.elsewhere() {
      return wished(decision, about: error)
    }
    if let error, let delegate = request.ownDelegate { return ask(delegate, about: error, step) }
    let retriers = core.retriers(of: request)
    guard let error, !retriers.isEmpty, let session = context.session else {
      return perform(change { $0.decided(nil) })
    }
    let chain = RetryChain(retriers: retriers, request: request, session: session, error: error) { [request] in
      let (result, decision) = ($0, $1)
      request.onPipeline { $0.retriersAnswered(result, decision, about: error, step) }
    }
    context.onRootQueue { chain.run() }
  }

  /// A delegate in the session's place asks retriers or decides alone.
  private func ask(_ delegate: any RequestDelegate, about error: WeirError, _ step: RequestMachine.Step) {
    _ = request.takeNotedDecision()
    let answer = SingleCall<RetryResult> { [request] result in
      let decision = RetryDecision(result, noted: request.takeNotedDecision())
      request.onPipeline { $0.retriersAnswered(result, decision, about: error, step) }
    }
    context.onRootQueue { [request] in delegate.retryResult(for: request, dueTo: error) { answer($0) } }
  }

  /// Retries as code that is not a retrier asks for, in place of the retriers' answer.
  func retryAsTold(after delay: TimeInterval) {
    let (error, isOpen) = request.fields.withLock { (askedError($0), $0.machine.isDeciding) }
    guard isOpen, let error else { return }
    wished(.retry(after: max(0, delay), source: .backoff), about: error)
  }

  /// The error about which the retriers are asked: that of one handler's value, or the attempt's.
  private func askedError(_ fields: RequestFields) -> WeirError? {
    switch fields.machine.stage {
    case .decidingSerializer(let index): index < values.count ? values[index].error : nil
    default: fields.error
    }
  }

  private func retriersAnswered(
    _ result: RetryResult, _ decision: RetryDecision, about error: WeirError, _ step: RequestMachine.Step
  ) {
    guard decide({ $0.isWaiting(in: step) }) else { return }
    if case .doNotRetryWithError(let cause) = result { refuse(with: Self.wrapped(cause, about: error)) }
    wished(decision, about: error)
  }

  /// The error to end with. A delegate may have wrapped its error already.
  private static func wrapped(_ cause: any Error, about error: WeirError) -> WeirError {
    if case .requestRetryFailed? = cause.asWeirError, let cause = cause.asWeirError { return cause }
    return .requestRetryFailed(retryError: cause, originalError: error)
  }

  /// Acts on the retriers' decision, unless the body, the deadline or the retry budget forbids the retry.
  private func wished(_ decision: RetryDecision, about error: WeirError) {
    let canReplayBody = bodyStream?.state.hasBegun != true || request.makesBodyAnew
    let verdict = admission.verdict(on: decision, canReplayBody: canReplayBody, deadline: deadlineTime) {
      isFree(decision)
    }
    judged(verdict, dueTo: RetryReason(error))
  }

  /// Whether a retry needs no budget. A retry with a new credential doesn't show that a destination is in trouble: all
  /// requests that were refused with the old credential are repeated at once.
  private func isFree(_ decision: RetryDecision) -> Bool {
    guard case .retry(_, _, _, let credential?) = decision else { return false }
    return request.fields.withLock { $0.takeFreeRetry(with: credential) }
  }

  /// A retrier's own error becomes the request's, or that of the one handler about whose value it was asked.
  private func refuse(with error: WeirError) {
    if case .decidingSerializer = decide({ $0.stage }) {
      verdict = error
    } else {
      record(error)
    }
  }

  func forgetAttempt() {
    let replaced = request.fields.withLock { fields in
      fields.retryCount += 1
      fields.retryReason = grantedReason
      fields.hasLeftEndpointOut = false
      fields.data = nil
      fields.times = RequestTimes()
      return fields.machine.state == .cancelled ? nil : fields.exchange(error: nil)
    }
    withExtendedLifetime(replaced) {}
    isFinished = false
    request.resetProgress()
    request.reset()
    attempt = nil
  }
}

extension RetryReason {
  /// The status that was unacceptable; for other errors the error's label.
  init(_ error: WeirError) {
    self.init(rawValue: error.responseCode.map(String.init) ?? error.label)
  }
}
