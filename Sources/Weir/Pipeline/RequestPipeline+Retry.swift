import Foundation
import Synchronization
import WeirIO

/// What follows a failure: the retriers, the deadline, the delay.
extension RequestPipeline {
  func askRetriers() {
    let (error, step) = request.fields.withLock { (askedError($0), $0.machine.step) }
    if let error, let delegate = request.ownDelegate { return ask(delegate, about: error, step) }
    let retriers = core.retriers(of: request)
    guard let error, !retriers.isEmpty, let session = context.session else {
      return perform(decided: .stop, step)
    }
    let chain = RetryChain(retriers: retriers, request: request, session: session, error: error) { [request] in
      let result = $0
      request.onPipeline { $0.retriersAnswered(result, about: error, step) }
    }
    if let root = context.queues.root { root.async { chain.run() } } else { chain.run() }
  }

  /// Whoever takes the session's place asks retriers or decides alone.
  private func ask(_ delegate: any RequestDelegate, about error: WeirError, _ step: RequestMachine.Step) {
    let answer = SingleCall<RetryResult> { [request] result in
      request.onPipeline { $0.retriersAnswered(result, about: error, step) }
    }
    let ask: @Sendable () -> Void = { [request] in delegate.retryResult(for: request, dueTo: error) { answer($0) } }
    if let root = context.queues.root { root.async(execute: ask) } else { ask() }
  }

  /// A retry that somebody asks for who is no retrier, in place of their answer.
  func retryAsTold(after delay: TimeInterval) {
    let (error, step, isOpen) = request.fields.withLock { (askedError($0), $0.machine.step, $0.machine.isDeciding) }
    guard isOpen, let error else { return }
    grant(after: max(0, delay), about: error, step)
  }

  /// What the retriers are asked about: a response whose body waits, one handler's value, or the attempt's error.
  private func askedError(_ fields: RequestFields) -> WeirError? {
    switch fields.machine.stage {
    case .decidingSerializer(let index): index < values.count ? values[index].error : nil
    case .decidingAtHead:
      .responseValidationFailed(
        reason: .unacceptableStatusCode(code: fields.lastTask?.lazyResponse?.statusCode ?? 0))
    default: fields.error
    }
  }

  private func retriersAnswered(_ result: RetryResult, about error: WeirError, _ step: RequestMachine.Step) {
    guard decide({ $0.isWaiting(in: step) }) else { return }
    switch result {
    case .retry: grant(after: 0, about: error, step)
    case .retryWithDelay(let delay): grant(after: max(0, delay), about: error, step)
    case .doNotRetry: deny(reasonOfRefusal(error), about: error, step)
    case .doNotRetryWithError(let cause):
      refuse(with: Self.wrapped(cause, about: error))
      deny(.policy, about: error, step)
    }
  }

  /// A delegate's answer may be wrapped already.
  private static func wrapped(_ cause: any Error, about error: WeirError) -> WeirError {
    if case .requestRetryFailed? = cause.asWeirError, let cause = cause.asWeirError { return cause }
    return .requestRetryFailed(retryError: cause, originalError: error)
  }

  private func grant(after delay: Double, about error: WeirError, _ step: RequestMachine.Step) {
    guard request.canReplayBody, bodyStream?.state.hasBegun != true else { return deny(.body, about: error, step) }
    guard MonotonicTime.now.advanced(bySeconds: delay) < deadlineTime else {
      return deny(.deadline, about: error, step)
    }
    let reason = RetryReason(error)
    grantedReason = reason
    if wants(.attempts) {
      let source = RetryDelaySource(delay: delay, response: request.lazyResponse)
      monitors.send(.attempts) { [request] in
        $0.request(request, willRetryAfter: delay, source: source, reason: reason)
      }
    }
    perform(decided: .retry(after: delay), step)
  }

  /// What kept a retry policy from retrying; `policy` where there is none or the failure is none of its kind.
  private func reasonOfRefusal(_ error: WeirError) -> RetryDenial.Reason {
    core.retriers(of: request).lazy.compactMap { ($0 as? RetryPolicy)?.denial(of: self.request, dueTo: error) }
      .first ?? .policy
  }

  private func deny(
    _ reason: @autoclosure () -> RetryDenial.Reason, about error: WeirError, _ step: RequestMachine.Step
  ) {
    if wants(.attempts), !hasDenied {
      let reason = reason()
      monitors.send(.attempts) { [request] in $0.request(request, didDenyRetry: RetryDenial(reason: reason)) }
    }
    hasDenied = true
    perform(decided: .stop, step)
  }

  /// A retrier's own error becomes the request's, or that of the one handler whose value it was asked about.
  private func refuse(with error: WeirError) {
    if case .decidingSerializer = decide({ $0.stage }) {
      verdict = error
    } else {
      record(error)
    }
  }

  private func perform(decided decision: RequestMachine.Decision, _ step: RequestMachine.Step) {
    perform(decide { $0.decided(decision, step) })
  }

  func waitForRetry(_ delay: Double) {
    values.removeAll()
    if delay > 0 {
      startWait(seconds: delay)
    } else {
      // Through the mailbox: a retrier that always says yes at once must not grow the stack.
      core.loop.post { [request] in request.onPipeline { $0.retryNow() } }
    }
  }

  private func retryNow() {
    perform(decide { $0.delayElapsed() })
  }

  func retry() {
    let replaced = request.fields.withLock { fields in
      fields.retryCount += 1
      fields.retryReason = grantedReason
      fields.data = nil
      fields.times = RequestTimes()
      return fields.machine.state == .cancelled ? nil : fields.exchange(error: nil)
    }
    withExtendedLifetime(replaced) {}
    hasDenied = false
    request.resetProgress()
    attempt = nil
    let interested: EventInterests = [.lifecycle, .attempts]
    if wants(interested) { monitors.send(interested) { [request] in $0.requestIsRetrying(request) } }
    create()
  }
}

extension RetryReason {
  /// The status that was unacceptable, else the error's label.
  init(_ error: WeirError) {
    self.init(rawValue: error.responseCode.map(String.init) ?? error.label)
  }
}
