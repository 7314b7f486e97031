import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import WeirCurl
import WeirIO

/// One attempt on the wire.
extension RequestPipeline {
  func startAttempt(at now: MonotonicTime) {
    // What can't be sent is no attempt.
    guard hop.request?.isSupported == true else { return attemptEnded(error: unsupportedURL) }
    body.holds = []
    tally = TransferTally(queue: admission.waited(until: now), now: now)
    phase = .onWire
    request.fields.withLock { $0.attempt?.isStarted = true }
    if wants(.attempts) {
      let number = request.retryCount + 1
      monitors.send(.attempts, (request, number)) { $0.request($1.0, didStartAttempt: $1.1) }
    }
    startHop()
  }

  /// Puts the present hop's request on the wire.
  func startHop() {
    hop.isDue = false
    guard let hopRequest = hop.request, hopRequest.isSupported else {
      return attemptEnded(error: unsupportedURL)
    }
    body = BodyState(limit: request.maximumBodySize)
    let urlRequest = hopRequest.urlRequest
    let line = request.requestLine
    var spec = TransferSpec(url: hopRequest.text, target: line?.target, method: line?.method ?? hopRequest.method)
    guard let transferBody = makeBody(of: hopRequest) else {
      return attemptEnded(error: urlError(.requestBodyStreamExhausted, "the request's body can't be sent again"))
    }
    spec.body = transferBody
    spec.silenceTimeout =
      urlRequest.timeoutInterval == 60 ? core.configuration.timeoutIntervalForRequest : urlRequest.timeoutInterval
    spec.tag = destination
    spec.isForOneOfMany = request.isForOneOfMany
    guard task?.starts(expectedToSend: spec.body.length ?? -1) != false else {
      return attemptEnded(error: urlError(.cancelled, "the task was cancelled"))
    }
    do {
      let headers = core.headers(for: urlRequest, of: request, withoutSecrets: hop.hasLeftOrigin)
      transfer = try core.engine().start(spec, headers: headers, delegate: self)
    } catch {
      attemptEnded(error: urlError(.cannotLoadFromNetwork, "libcurl could not be started: \(error)"))
    }
  }

  /// Nil: there was one, and it can't be had again.
  private func makeBody(of hopRequest: HopRequest) -> TransferBody? {
    let body = request.makeBody(of: hopRequest.urlRequest)
    if case .stream(let stream, let length) = body {
      return beginBodyStream(stream) ? .pulled(length: length) : nil
    }
    bodyStream = nil
    switch body {
    // A length of zero: without one a server might wait for a body (RFC 9110 section 8.6).
    case .none: return Self.methodsWithBody.contains(hopRequest.method) ? .bytes([UInt8]()) : TransferBody.none
    case .data(let data): return .bytes(DataBytes(data))
    case .pulled(let length): return request.rewindBody() ? .pulled(length: length) : nil
    case .stream: return nil
    }
  }

  private static let methodsWithBody = ["POST", "PUT", "PATCH"]

  private var unsupportedURL: URLError {
    urlError(.unsupportedURL, "only http and https URLs with a host can be requested")
  }

  // MARK: Steering

  func suspendTransfer() {
    if announceTask(.suspended) { pauseTransfer() }
  }

  private func pauseTransfer() {
    hold(.suspended)
    transfer?.pauseSending()
    park()
  }

  func resumeTransfer() {
    if announceTask(.running) { endPause() }
  }

  private func endPause() {
    if admission.place != .parked { transfer?.resumeSending() }
    release(.suspended)
    if hop.isDue { goOn() }
  }

  func cancelTransfer() {
    guard let task, task.state != .completed else {
      return taskCompleted(nil)
    }
    task.setState(.canceling)
    if wants(.lifecycle), decide({ $0.state == .cancelled }) {
      monitors.send(.lifecycle) { [request] in $0.request(request, didCancelTask: task) }
    }
    endAttempt()
  }

  /// Ends the attempt wherever it is, as libcurl would end a cancelled transfer.
  private func endAttempt() {
    withdraw()
    hop.next = nil
    if let transfer {
      transfer.cancel()
    } else if let ending = body.ending {
      // libcurl is done, the decoder was not.
      body.ending = nil
      body.failure = urlError(.cancelled, "the task was cancelled")
      transferEnded(ending.error, ending.report)
    } else {
      attemptEnded(error: urlError(.cancelled, "the task was cancelled"))
    }
  }

  /// Stops reading until every reason to wait is gone.
  func hold(_ reason: BodyState.Holds) {
    body.holds.insert(reason)
    transfer?.pauseReceiving()
  }

  func release(_ reason: BodyState.Holds) {
    guard body.holds.remove(reason) != nil, body.holds.isEmpty else { return }
    if transfer != nil {
      goOn()
    } else if let ending = body.ending {
      body.ending = nil
      transferEnded(ending.error, ending.report)
    }
  }

  /// The attempt has its slot: the next hop starts if one is due, else reading goes on.
  func proceed() {
    if hop.isDue { return startHop() }
    if body.holds.isEmpty { transfer?.resumeReceiving() }
  }

  // MARK: The task itself, steered by the caller

  func cancelTask(_ task: TransferTask) {
    guard task === self.task, task.state != .completed else { return }
    task.setState(.canceling)
    endAttempt()
  }

  func suspendTask(_ task: TransferTask) {
    guard task === self.task, transfer != nil, task.setState(.suspended) else { return }
    pauseTransfer()
  }

  func resumeTask(_ task: TransferTask) {
    guard task === self.task, transfer != nil, task.setState(.running) else { return }
    endPause()
  }

  /// Sets the task's state and tells of it. False: the task is completed already, and stays so.
  @discardableResult
  func announceTask(_ state: TransferTask.State) -> Bool {
    guard let task, task.setState(state) else { return false }
    guard wants(.lifecycle) else { return true }
    monitors.send(.lifecycle) { [request] in
      if state == .suspended {
        $0.request(request, didSuspendTask: task)
      } else {
        $0.request(request, didResumeTask: task)
      }
    }
    return true
  }

  // MARK: The end of an attempt

  /// A hop has ended: the next one begins, or the attempt is over.
  func transferEnded(_ error: TransferError?, _ report: TransferReport) {
    tally.add(report)
    body.hasBroken = error != nil
    if let next = hop.next, decide({ $0.stage == .transferring }) {
      hop.request = HopRequest(next)
      hop.next = nil
      tally.redirected()
      task?.redirected(to: next)
      hop.isDue = true
      leaveSlot()
      if !decide({ $0.isSuspended }) { goOn() }
      return
    }
    // How the transport of a body that nobody wants ended is of no interest.
    let isOfInterest = !body.isDiscarded || error?.kind == .cancelled && !body.isGivenUp
    let transportError = isOfInterest ? error.map { URLError($0, url: hop.url) } : nil
    attemptEnded(error: body.failure ?? transportError ?? body.endFailure())
  }

  func attemptEnded(error: URLError?) {
    guard let task else { return }
    let error = error.map { $0.about(hop.url) }
    if let error, decide({ $0.stage != .cancelling }) { record(.sessionTaskFailed(error: error)) }
    if error != nil { request.attemptFailed() }
    end(task, error: error)
    core.connectionUsed(
      isReused: tally.isReusedConnection, isIdle: error == nil && !body.hasBroken, destination?.destination)
    if error == nil, request.error == nil, let response = task.lazyResponse {
      validate(response)
    } else {
      taskCompleted(error.map { .sessionTaskFailed(error: $0) })
    }
  }

  /// Completes the task and gathers its metrics.
  func end(_ task: TransferTask, error: (any Error)?) {
    leaveSlot()
    let now = MonotonicTime.now
    if phase == .waiting { tally = TransferTally(queue: admission.waited(until: now), now: now) }
    let status = task.complete(error: error)?.statusCode
    let metrics = request.fields.withLock { fields in
      fields.times?.completed = now
      let metrics = tally.metrics(now: now, status: status, times: fields.times ?? RequestTimes())
      fields.attempt?.metrics = metrics
      return metrics
    }
    if wants(.tasks) { announceEnd(of: task, metrics, error) }
  }

  private func announceEnd(of task: TransferTask, _ metrics: TransferMetrics, _ error: (any Error)?) {
    let session = context.session
    if let session {
      context.monitors.send(.tasks) { $0.urlSession(session, task: task, didFinishCollecting: metrics) }
    }
    monitors.send(.tasks) { [request] in $0.request(request, didGatherMetrics: metrics) }
    if let session {
      context.monitors.send(.tasks) { $0.urlSession(session, task: task, didCompleteWithError: error) }
    }
  }

  private func validate(_ response: LazyHTTPResponse) {
    let (validators, step) = request.fields.withLock { ($0.validators, $0.machine.step) }
    guard !validators.isEmpty else { return taskCompleted(nil) }
    let input = ValidationInput(request: request, response: response)
    if let root = context.queues.root {
      validate(input, by: validators, on: root, step)
    } else {
      validated(Validator.Verdict(of: validators, about: input), input, step)
    }
  }

  private func validate(
    _ input: ValidationInput, by validators: [Validator], on root: DispatchQueue, _ step: RequestMachine.Step
  ) {
    phase = .validating
    root.async { [request] in
      let verdict = Validator.Verdict(of: validators, about: input)
      request.onPipeline { $0.validated(verdict, input, step) }
    }
  }

  private func validated(_ verdict: Validator.Verdict, _ input: ValidationInput, _ step: RequestMachine.Step) {
    guard decide({ $0.isWaiting(in: step) }) else { return }
    if let failure = verdict.failure { record(failure) }
    if wants(.responses) { verdict.announce(input, to: monitors) }
    taskCompleted(nil)
  }

  /// The attempt is over, its validation included.
  private func taskCompleted(_ taskError: WeirError?) {
    announceCompletion(taskError)
    perform(request.fields.withLock { $0.machine.transferEnded(failed: $0.error != nil) })
  }

  /// Tells of the completion, once per task.
  func announceCompletion(_ taskError: WeirError?) {
    guard let task, phase != .none else { return }
    let wasOnWire = phase != .waiting
    phase = .none
    if wants(.lifecycle) {
      monitors.send(.lifecycle) { [request] in $0.request(request, didCompleteTask: task, with: taskError) }
    }
    guard wasOnWire, wants(.attempts) else { return }
    let (metrics, error, number) = request.fields.withLock { fields in
      (fields.attempt?.metrics, fields.error, fields.retryCount + 1)
    }
    if let metrics {
      monitors.send(.attempts, (request, number, metrics, error)) {
        $0.request($1.0, didEndAttempt: $1.1, metrics: $1.2, error: $1.3)
      }
    }
  }
}
