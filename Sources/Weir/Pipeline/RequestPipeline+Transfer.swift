import Foundation
import FoundationNetworking
import Synchronization
import WeirCurl
import WeirIO

/// Where an attempt is: the request of the present hop and what follows it.
struct Hop {
  var urlRequest: URLRequest?
  /// Set when this hop's response leads to another request.
  var next: URLRequest?
  /// Whether secrets meant for the first origin stay behind.
  var hasLeftOrigin = false
}

/// One attempt on the wire.
extension RequestPipeline {
  func startAttempt() {
    body.holds = []
    let now = MonotonicTime.now
    tally = TransferTally(queue: now.seconds(since: admission.began), now: now)
    if monitors.wants(.attempts) {
      let number = request.retryCount + 1
      monitors.send(.attempts, (request, number)) { $0.request($1.0, didStartAttempt: $1.1) }
    }
    task?.setState(.running)
    startHop()
  }

  /// Puts the present hop's request on the wire.
  func startHop() {
    guard let urlRequest = hop.urlRequest, let url = urlRequest.url, isSupported(url) else {
      return attemptEnded(error: urlError(.unsupportedURL, "only http and https URLs with a host can be requested"))
    }
    let wasSuspended = body.holds.contains(.suspended)
    body = BodyState(limit: request.maximumBodySize)
    let attemptBody = request.makeBody(of: urlRequest)
    var spec = TransferSpec(url: url.absoluteString, method: urlRequest.httpMethod ?? "GET")
    switch attemptBody {
    case .none: break
    case .data(let data): spec.body = .bytes(DataBytes(data))
    case .pulled(let length):
      guard request.rewindBody() else {
        return attemptEnded(error: urlError(.requestBodyStreamExhausted, "the request's body can't be sent again"))
      }
      spec.body = .pulled(length: length)
    }
    spec.silenceTimeout =
      urlRequest.timeoutInterval == 60 ? core.configuration.timeoutIntervalForRequest : urlRequest.timeoutInterval
    spec.tag = destination
    task?.update { $0.expectedToSend = spec.body.length ?? -1 }
    do {
      let headers = core.headers(for: urlRequest, of: request, withoutSecrets: hop.hasLeftOrigin)
      transfer = try core.engine().start(spec, headers: headers, delegate: self)
      if wasSuspended { pauseTransfer() }
    } catch {
      attemptEnded(error: urlError(.cannotLoadFromNetwork, "libcurl could not be started: \(error)"))
    }
  }

  private func isSupported(_ url: URL) -> Bool {
    guard let scheme = url.scheme, url.host()?.isEmpty == false else { return false }
    return scheme == "http" || scheme == "https" || ["http", "https"].contains(scheme.lowercased())
  }

  // MARK: Steering

  func suspendTransfer() {
    announceTask(.suspended)
    pauseTransfer()
  }

  private func pauseTransfer() {
    hold(.suspended)
    transfer?.pauseSending()
  }

  func resumeTransfer() {
    announceTask(.running)
    transfer?.resumeSending()
    release(.suspended)
  }

  func cancelTransfer() {
    if let task {
      task.setState(.canceling)
      if monitors.wants(.lifecycle), decide({ $0.state == .cancelled }) {
        monitors.send(.lifecycle) { [request] in $0.request(request, didCancelTask: task) }
      }
    }
    hop.next = nil
    if let transfer {
      transfer.cancel()
    } else if let ending = body.ending {
      // libcurl is done, the decoder was not.
      body.ending = nil
      body.failure = urlError(.cancelled, "cancelled")
      transferEnded(ending.error, ending.report)
    } else if let task {
      // Only validators on a queue of their own are left; their answer comes too late.
      taskCompleted(task, taskError: nil)
    }
  }

  /// Stops reading until every reason to wait is gone.
  func hold(_ reason: BodyState.Holds) {
    body.holds.insert(reason)
    if reason != .decoding, reason != .sink { giveSlot() }
    transfer?.pauseReceiving()
  }

  func release(_ reason: BodyState.Holds) {
    guard body.holds.remove(reason) != nil, body.holds.isEmpty else { return }
    if transfer != nil {
      retakeSlot()
      transfer?.resumeReceiving()
    } else if let ending = body.ending {
      body.ending = nil
      transferEnded(ending.error, ending.report)
    }
  }

  // MARK: The task itself, steered by the caller

  func cancelTask(_ task: TransferTask) {
    guard task === self.task else { return }
    task.setState(.canceling)
    hop.next = nil
    transfer?.cancel()
  }

  func suspendTask(_ task: TransferTask) {
    guard task === self.task, transfer != nil else { return }
    task.setState(.suspended)
    pauseTransfer()
  }

  func resumeTask(_ task: TransferTask) {
    guard task === self.task, transfer != nil else { return }
    task.setState(.running)
    transfer?.resumeSending()
    release(.suspended)
  }

  func announceTask(_ state: TransferTask.State) {
    guard let task else { return }
    if state == .suspended { task.setState(.suspended) }
    guard monitors.wants(.lifecycle), decide({ $0.state != .initialized }) else { return }
    monitors.send(.lifecycle) { [request] in
      if state == .suspended {
        $0.request(request, didSuspendTask: task)
      } else {
        $0.request(request, didResumeTask: task)
      }
    }
  }

  // MARK: The end of an attempt

  /// A hop has ended: the next one begins, or the attempt is over.
  func transferEnded(_ error: TransferError?, _ report: TransferReport) {
    tally.add(report)
    if let next = hop.next, decide({ $0.stage == .transferring }) {
      hop.urlRequest = next
      hop.next = nil
      tally.redirectCount += 1
      task?.redirected(to: next)
      return startHop()
    }
    // How the transport of a body that nobody wants ended is of no interest.
    let transportError = body.isDiscarded ? nil : error.map { URLError($0, url: hop.urlRequest?.url) }
    attemptEnded(error: body.failure ?? transportError ?? body.endFailure())
  }

  func attemptEnded(error: URLError?) {
    giveSlot()
    let now = MonotonicTime.now
    let metrics = tally.metrics(now: now, response: task?.lazyResponse)
    let isCancelled = request.fields.withLock { fields in
      if !fields.attempts.isEmpty { fields.attempts[fields.attempts.count - 1].metrics = metrics }
      fields.times?.completed = now
      return fields.machine.state == .cancelled
    }
    if metrics.isReusedConnection { core.connection(.reused, destination?.destination) }
    if error == nil { core.connection(.idle, destination?.destination) }
    guard let task else { return }
    task.complete(error: error)
    if monitors.wants(.tasks) { announceEnd(of: task, metrics, error) }
    if let error, decide({ $0.stage != .cancelling }) { record(.sessionTaskFailed(error: error)) }
    if error == nil, !isCancelled, request.error == nil, let response = task.lazyResponse {
      validate(response, of: task)
    } else {
      taskCompleted(task, taskError: error.map { .sessionTaskFailed(error: $0) })
    }
  }

  private func announceEnd(of task: TransferTask, _ metrics: TransferMetrics, _ error: URLError?) {
    let session = context.session
    if let session {
      context.monitors.send(.tasks) { $0.urlSession(session, task: task, didFinishCollecting: metrics) }
    }
    monitors.send(.tasks) { [request] in $0.request(request, didGatherMetrics: metrics) }
    if let session {
      context.monitors.send(.tasks) { $0.urlSession(session, task: task, didCompleteWithError: error) }
    }
  }

  private func validate(_ response: LazyHTTPResponse, of task: TransferTask) {
    let (validators, data) = request.fields.withLock { ($0.validators, $0.data) }
    guard !validators.isEmpty else { return taskCompleted(task, taskError: nil) }
    let input = ValidationInput(request: request, urlRequest: request.lastRequest, response: response, data: data)
    guard let root = context.queues.root else {
      return validated(Validator.firstFailure(validators, input, monitors), task, step)
    }
    root.async { [monitors, request, step] in
      let failure = Validator.firstFailure(validators, input, monitors)
      request.onPipeline { $0.validated(failure, task, step) }
    }
  }

  private func validated(_ failure: WeirError?, _ task: TransferTask, _ step: RequestMachine.Step) {
    guard decide({ $0.isWaiting(in: step) }) else { return }
    if let failure { record(failure) }
    taskCompleted(task, taskError: nil)
  }

  private func taskCompleted(_ task: TransferTask, taskError: WeirError?) {
    if monitors.wants(.lifecycle) {
      monitors.send(.lifecycle) { [request] in $0.request(request, didCompleteTask: task, with: taskError) }
    }
    let (metrics, error, number) = request.fields.withLock { fields in
      (fields.attempts.last?.metrics, fields.error, fields.retryCount + 1)
    }
    if monitors.wants(.attempts), let metrics {
      monitors.send(.attempts, (request, number, metrics, error)) {
        $0.request($1.0, didEndAttempt: $1.1, metrics: $1.2, error: $1.3)
      }
    }
    perform(decide { $0.transferEnded(failed: error != nil) })
  }
}
