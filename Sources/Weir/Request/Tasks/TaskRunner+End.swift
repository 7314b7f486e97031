import Dispatch
import Synchronization
import WeirCurl
import WeirIO

/// The end of a hop, and of the attempt.
extension TaskRunner {
  /// A hop has ended. The next one begins, or the attempt is over.
  func transferEnded(_ error: TransferError?, _ report: TransferReport) {
    let next = hop.next.flatMap { next in pipeline.decide({ $0.isTransferring }) ? next : nil }
    if next == nil, awaitsReceiver(error) {
      body.ending = (error, report)
      return
    }
    if next == nil, error == nil, asksToStore(report) { return }
    attempt.measured(report)
    body.hasBroken = error != nil
    if let error, let trust = hop.trust,
      let reason = WeirError.ServerTrustFailureReason(error, at: trust, url: hop.url, advice: advice)
    {
      body.trustFailure = .serverTrustEvaluationFailed(reason: reason)
    }
    if let next {
      attempt.follows(isRedirected: hop.isRedirected)
      hop.follow(next)
      task.redirected(to: hop.request)
      attempt.goesOn()
    } else {
      ended(error: outcome(error))
    }
  }

  var advice: TransferAdvice {
    TransferAdvice(
      options: core.transport.options, hasOwnTimeout: hop.request.timeout != nil,
      naming: core.configuration.adviceNames)
  }

  /// The error with which the hop ended, known once its transfer is over; nil for a success.
  func outcome(_ error: TransferError?) -> URLError? {
    if let failure = body.failure { return failure }
    if let error = attempt.judged(error) { return URLError(TransferFailure(error, advice: advice), url: hop.url) }
    return attempt.discardsBody ? nil : body.endFailure()
  }

  /// The receiver has taken everything, or no longer needs to.
  func conclude() {
    guard !body.isAwaited, let ending = body.ending else { return }
    if awaitsSink() { return }
    body.ending = nil
    transferEnded(ending.error, ending.report)
  }

  /// Whether the last hop's end waits until the request has written its body to a file.
  private func awaitsReceiver(_ error: TransferError?) -> Bool {
    guard request.fileOffset != nil, !body.isReceived else { return false }
    body.isAwaited = request.bodyEnded(outcome(error), of: self)
    if body.isAwaited { attempt.awaitReceiver() } else { body.isReceived = true }
    return body.isAwaited
  }

  /// The file is in its place, or removed.
  ///
  /// - Parameter failure: An error that replaces the transfer's, as it says more.
  func receiverDone(_ failure: URLError?) {
    guard body.isAwaited else { return }
    body.isAwaited = false
    body.isReceived = true
    attempt.stopTimer()
    if let failure { body.failure = failure }
    conclude()
  }

  /// The body can't be written.
  func receiverFailed(_ error: URLError) {
    body.failure = error
    body.isAwaited = false
    if let transfer = attempt.transfer { transfer.cancel() } else { conclude() }
  }

  /// Whether the end waits until the receiver has taken what came. The slot is free for others meanwhile.
  func awaitsSink() -> Bool {
    guard !request.bodyMayEnd(), body.receiverFailure == nil, pipeline.decide({ $0.isTransferring }) else {
      return false
    }
    hold(.sink)
    attempt.vacate()
    return true
  }

  /// The attempt is over except for its validation.
  func ended(error: URLError?) {
    let error = error.map { $0.about(request.failureContext(of: hop.request, attempt: number), hop.url) }
    guard pipeline.endsWith(self) else { return lose(error) }
    if let error, pipeline.decide({ $0.stage != .cancelling }) {
      pipeline.record(body.receiverFailure ?? body.trustFailure ?? .sessionTaskFailed(error: error))
      if let failure = body.trustFailure {
        pipeline.monitors.request(request, didFailTask: task, earlyWithError: failure)
      }
    }
    if error != nil { request.attemptFailed() }
    complete(error: error)
    attempt.connectionUsed(isIdle: error == nil && !body.hasBroken)
    if error == nil, request.error == nil, let response = task.lazyResponse {
      validate(response)
    } else {
      completed(error.map { .sessionTaskFailed(error: $0) })
    }
  }

  func complete(error: (any Error)?) {
    body.decoder = nil
    let status = task.complete(error: error)?.statusCode
    let now = MonotonicTime.now
    let report = attempt.end(status: status, at: now, failure(error))
    let metrics = request.fields.withLock { fields in
      if !attempt.isLost { fields.times?.completed = now }
      let times = fields.times ?? RequestTimes()
      let metrics = TransferMetrics(report, from: times.date(attempt.costs.began))
      fields.change(number) { $0?.metrics = metrics }
      return metrics
    }
    self.metrics = metrics
    if pipeline.wants(.tasks) { announceEnd(metrics, error) }
  }

  /// The meaning for the destination of an end without a final head; nil: it means nothing.
  private func failure(_ error: (any Error)?) -> Attempt.Failure? {
    // An error from outside, such as a passed deadline, is in the request, while the task was only cancelled.
    let (isCancelled, own) = request.fields.withLock { ($0.machine.state == .cancelled, $0.error) }
    guard machine.hasStarted, !isCancelled, let error else { return nil }
    let urlError = error as? URLError
    if let urlError,
      urlError.isDestinationRefused || urlError.isOwnDefect || urlError.isOfProxy
        || urlError.code == .requestBodyStreamExhausted
    {
      return nil
    }
    return (
      RequestOutcome(error: own ?? .sessionTaskFailed(error: error), status: nil),
      isSilence: urlError?.code == .timedOut
    )
  }

  /// Tells observers that the attempt is over and judged.
  func announceEnd(_ error: @autoclosure () -> WeirError?) {
    guard let metrics else { return }
    attempt.announceEnd(metrics.report, error())
    announceRecord(metrics, error())
  }

  private func announceEnd(_ metrics: TransferMetrics, _ error: (any Error)?) {
    let session = context.session
    if let session { context.monitors.urlSession(session, task: task, didFinishCollecting: metrics) }
    pipeline.monitors.request(request, didGatherMetrics: metrics)
    if let session { context.monitors.urlSession(session, task: task, didCompleteWithError: error) }
  }

  // MARK: Validation

  private func validate(_ response: LazyHTTPResponse) {
    let (validators, step) = request.fields.withLock { ($0.validators, $0.machine.step) }
    guard !validators.isEmpty else { return completed(nil) }
    let input = ValidationInput(request: request, response: response)
    guard let root = context.queues.root else {
      return validated(Validator.Verdict(of: validators, about: input), input, step)
    }
    root.async { [request, task] in
      let verdict = Validator.Verdict(of: validators, about: input)
      request.onTask(task) { $0.validated(verdict, input, step) }
    }
  }

  private func validated(_ verdict: Validator.Verdict, _ input: ValidationInput, _ step: RequestMachine.Step) {
    guard pipeline.decide({ $0.isWaiting(in: step) }) else { return }
    if let failure = verdict.failure { pipeline.record(failure) }
    if pipeline.wants(.responses) { verdict.announce(input, to: pipeline.monitors) }
    completed(nil)
  }

  /// The attempt is over, its validation included.
  func completed(_ taskError: WeirError?) {
    announceCompletion(taskError)
    pipeline.perform(
      request.fields.withLock { fields in
        let failed = fields.error != nil
        return fields.machine.change { $0.attemptEnded(failed: failed) }
      })
  }

  func announceCompletion(_ taskError: WeirError?) {
    guard !isCompleted else { return }
    isCompleted = true
    pipeline.monitors.request(request, didCompleteTask: task, with: taskError)
    announceEnd(request.error)
  }
}
