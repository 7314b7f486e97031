import Foundation
import Synchronization
import WeirIO

/// What follows a failure: the retriers, the deadline, the delay.
extension RequestPipeline {
  func askRetriers() {
    let (error, step) = request.fields.withLock { (askedError($0), $0.machine.step) }
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
      refuse(with: .requestRetryFailed(retryError: cause, originalError: error))
      deny(.policy, about: error, step)
    }
  }

  private func grant(after delay: Double, about error: WeirError, _ step: RequestMachine.Step) {
    guard request.canReplayBody else { return deny(.body, about: error, step) }
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
    request.fields.withLock { fields in
      fields.retryCount += 1
      fields.retryReason = grantedReason
      if fields.machine.state != .cancelled { fields.error = nil }
      fields.data = nil
      fields.times = RequestTimes()
    }
    hasDenied = false
    request.resetProgress()
    task = nil
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
