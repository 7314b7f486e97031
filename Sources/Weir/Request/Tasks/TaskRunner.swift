import Synchronization
import WeirCurl
import WeirHTTP
import WeirIO

/// Runs a ``TransferTask``, which is the client's side of one attempt, redirects included. The transport's ``Attempt`` has
/// the slot and the transfer. A runner lives on the loop from the task's creation until the next attempt or the request's
/// end. It holds the state of this attempt alone: its task, the hop on the wire, the response's body.
final class TaskRunner: HedgeRunner {
  let pipeline: RequestPipeline
  /// Holds the slot, the transfer and the timer.
  let attempt: Attempt
  /// The number of the request's retries up to this attempt.
  let retryCount: Int
  let task: TransferTask
  @exclusivity(unchecked) var hop: Hop
  @exclusivity(unchecked) var body = ResponseBody(limit: nil)
  /// Nil for an attempt that has no place in a trace, and of which no record is wanted.
  @exclusivity(unchecked) var notes: AttemptNotes?
  /// Nil if no response is looked up or stored.
  @exclusivity(unchecked) var caching: CacheUse?
  /// The number of the last lookup in the cache; an answer to an earlier one is ignored.
  @exclusivity(unchecked) var lookup: UInt32 = 0
  /// The attempt's metrics, once it is over.
  @exclusivity(unchecked) var metrics: TransferMetrics?
  /// Whether the last state that monitors were told of is running.
  @exclusivity(unchecked) private var isToldRunning = false
  /// Whether monitors were told of its completion.
  @exclusivity(unchecked) var isCompleted = false

  init(_ hop: HopRequest, number: Int, retryCount: Int, task: TransferTask, of pipeline: RequestPipeline) {
    self.pipeline = pipeline
    self.retryCount = retryCount
    self.task = task
    self.hop = Hop(request: hop)
    attempt = Attempt(transport: pipeline.core.transport, exchange: pipeline, number: number)
    attempt.report(to: self)
  }

  /// The attempt's number, 1 for the first.
  var number: Int { attempt.number }
  var machine: AttemptMachine { attempt.machine }
  var request: Request { pipeline.request }
  var core: SessionCore { pipeline.core }
  var context: SessionContext { pipeline.context }

  // MARK: Waiting

  /// Stops reading until every reason to wait is gone.
  func hold(_ reason: AttemptMachine.Holds) { attempt.hold(reason) }

  func release(_ reason: AttemptMachine.Holds) {
    attempt.release(reason)
    // The rest of the last read, which is not decoded yet, waited too.
    if reason == .sink, machine.holds.contains(.decoding) { continueDecodingNextTurn() }
  }

  // MARK: The slot

  /// Asks the destination to admit the attempt, unless a stored response is enough.
  func admit() {
    announce(.running)
    if !consultCache() { attempt.admit() }
  }

  /// Stops waiting for a first slot; the task exists and is suspended.
  func leaveQueue() {
    lookup &+= 1
    attempt.leaveQueue()
    announce(.suspended)
  }

  // MARK: Beside other attempts

  func beginsWithSlot() { attempt.beginsWithSlot() }

  func decideHedge(_ event: HedgeEvent) { attempt.decideHedge(event) }

  /// Whether it goes on with its final head. If not, another attempt gives the answer.
  func goesOn(status: Int) -> Bool {
    if pipeline.goesOn(self, status: status) { return true }
    lose(nil)
    return false
  }

  /// Goes on the wire with a slot that is already taken for it.
  func startBesideAnother() {
    announce(.running)
    attempt.startBesideAnother()
  }

  /// Ends an attempt that has lost a race or failed during one. Monitors get its metrics, but no `didCompleteTask`.
  func lose(_ error: URLError?) {
    attempt.lose()
    complete(error: error)
    attempt.connectionUsed(isIdle: false)
    announceEnd(error.map { .sessionTaskFailed(error: $0) })
  }

  // MARK: Steering

  func suspend() {
    if announce(.suspended) { attempt.suspend() }
  }

  func resume() {
    if announce(.running) { attempt.resume() }
  }

  /// Ends the attempt for the request, which was cancelled or is past its deadline.
  func cancel() {
    guard task.state != .completed else { return completed(nil) }
    let isCancelled = pipeline.decide { $0.state == .cancelled }
    // Monitors that count running tasks pair `didResumeTask` with `didCancelTask`. If the cancel comes first, they are told
    // of the start now.
    if isCancelled, pipeline.isResumed, !isToldRunning {
      task.setState(.running)
      pipeline.monitors.request(request, didResumeTask: task)
    }
    task.setState(.canceling)
    if isCancelled { pipeline.monitors.request(request, didCancelTask: task) }
    endTransfer(isCancelled ? .callerGaveUp : pipeline.isLate ? .timedOut : .withdrawn)
  }

  /// Ends the attempt at any stage in the way in which libcurl ends a cancelled transfer.
  private func endTransfer(_ ending: AttemptEnding = .withdrawn) {
    hop.next = nil
    body.isAwaited = false
    if machine.stage == .draining { body.failure = urlError(.cancelled, "the task was cancelled") }
    attempt.cancel(ending)
  }

  /// The task's holder has suspended, resumed or cancelled the task itself.
  func steerTask(to state: TransferTask.State) {
    guard state != .canceling else { return cancelTask() }
    guard machine.hasStarted, task.setState(state) else { return }
    if state == .suspended { attempt.suspend() } else { attempt.resume() }
  }

  /// The receiver of the response can't continue: the attempt fails with the receiver's error.
  func receiverFailed(_ error: WeirError) {
    guard task.state != .completed, body.receiverFailure == nil else { return }
    body.receiverFailure = error
    cancelTask()
  }

  func cancelTask() {
    guard task.state != .completed else { return }
    task.setState(.canceling)
    endTransfer()
  }

  /// Sets the task's state and tells monitors. False: the task is completed already, and stays so.
  @discardableResult
  private func announce(_ state: TransferTask.State) -> Bool {
    guard task.setState(state) else { return false }
    isToldRunning = state == .running
    if state == .suspended {
      pipeline.monitors.request(request, didSuspendTask: task)
    } else {
      pipeline.monitors.request(request, didResumeTask: task)
    }
    return true
  }

  /// The seconds for which the end of a cancelled request may wait for a file.
  private static let receiverTime = 1.0

  func limitReceiver() { attempt.limitReceiver(seconds: Self.receiverTime) }

  /// An error that weir makes itself, with the URL it is about.
  func urlError(_ code: URLError.Code, _ text: String) -> URLError {
    URLError(code, userInfo: [NSLocalizedDescriptionKey: text])
      .about(request.failureContext(of: hop.request, attempt: number), hop.url)
  }
}

// The questions and events of the transport's attempt.
extension TaskRunner: AttemptDelegate {
  func attemptMayStart(_ attempt: Attempt) -> Bool { pipeline.decide { $0.admitted($0.step) } }

  func attemptAwaitsSlot(_ attempt: Attempt) -> Bool { pipeline.decide { $0.awaitsSlot } }

  func attempt(_ attempt: Attempt, wasRejected reason: Rejection) {
    // Another attempt beside this one may still give the answer.
    guard pipeline.endsWith(self) else { return lose(nil) }
    let error = WeirError.requestRejected(reason: .init(reason))
    pipeline.record(error)
    complete(error: error)
    announceCompletion(error)
    pipeline.perform(pipeline.decide { $0.rejected($0.step) })
  }

  func attemptIsDue(_ attempt: Attempt) { startHop() }

  func attemptBegan(_ attempt: Attempt) {
    pipeline.hedge = request.fields.withLock { fields in
      fields.change(number) { $0?.isStarted = true }
      hop.credential = fields.credential
      hop.leavesSessionOut = fields.leavesSessionOut
      return fields.hedge
    }
    beginSpan()
    pipeline.wentOnWire(self)
  }

  func attempt(_ attempt: Attempt, didReceiveInterim head: ResponseHead) {
    guard pipeline.monitors.wants(.responses), let response = LazyHTTPResponse(head, url: hop.url).response else {
      return
    }
    pipeline.monitors.request(request, didReceiveInformationalResponse: response)
  }

  func attempt(_ attempt: Attempt, didReceiveHead head: ResponseHead) -> Flow {
    let response = LazyHTTPResponse(head, url: hop.url)
    task.received(response)
    core.cookies?.keep(head, of: hop.request)
    invalidateCache(response.statusCode)
    if !isConfirmedByServer(response), !followRedirect(response), !answerChallenge(response) { accept(response) }
    return body.failure == nil ? .proceed : .stop
  }

  func attempt(_ attempt: Attempt, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    if isServedFromCache { return refuseBody() }
    take(bytes)
    return body.failure == nil ? .proceed : .stop
  }

  func attempt(_ attempt: Attempt, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply {
    supplyFromStream(buffer)
  }

  func attemptRewindsBody(_ attempt: Attempt) -> Bool { pipeline.bodyStream?.state.hasBegun == false }

  func attempt(_ attempt: Attempt, didSendBody totalSent: Int64) {
    let before = task.countOfBytesSent
    task.update { $0.sent = totalSent }
    let expected = task.countOfBytesExpectedToSend
    if pipeline.attempt === self { request.reportUpload(totalSent, of: expected) }
    guard context.monitors.wants(.data), let session = context.session else { return }
    context.monitors.urlSession(
      session, task: task, didSendBodyData: totalSent - before, totalBytesSent: totalSent,
      totalBytesExpectedToSend: expected)
  }

  func attempt(_ attempt: Attempt, didFinish error: TransferError?, _ report: TransferReport) {
    if serveAfterTransfer((error, report)) { return }
    let isOfUse = error.map { decodesOn(after: $0) } ?? true
    if !isOfUse { body.decoder = nil }
    let awaitsSink = awaitsSink()
    if attempt.awaitsEnd(failed: !isOfUse && !awaitsSink) {
      body.ending = (error, report)
    } else {
      transferEnded(error, report)
    }
  }

  /// Whether bytes from before a failure are still decoded: for requests that hand chunks on, unless weir itself
  /// failed.
  private func decodesOn(after error: TransferError) -> Bool {
    request.handsChunksOn && machine.holds.contains(.decoding) && body.failure == nil && error.kind != .cancelled
      && pipeline.decide { $0.isTransferring }
  }

  func attemptConcludes(_ attempt: Attempt) { conclude() }

  func attemptReadsOn(_ attempt: Attempt) { feedFromCache() }

  func attemptWasCancelled(_ attempt: Attempt) { ended(error: urlError(.cancelled, "the task was cancelled")) }

  func attemptReceiverIsLate(_ attempt: Attempt) {
    body.isAwaited = false
    conclude()
  }
}

/// The present hop of an attempt: its request and the request that follows.
struct Hop {
  private(set) var request: HopRequest
  /// The next request, if this hop's response leads to one.
  var next: URLRequest?
  /// Whether the request that this hop's response asks for no longer has a body.
  var losesBody = false
  /// Whether an earlier hop lost the body. Then the only body is one that a redirect handler has set since.
  private(set) var hasLostBody = false
  /// Whether `next` follows a redirect; false if it repeats the hop's request, perhaps changed.
  var isRedirected = true
  /// Whether secrets meant for the first origin are left out.
  var hasLeftOrigin = false
  /// Whether the session's own secrets are left out.
  var leavesSessionOut = false
  /// The request's own credential, for its first origin.
  var credential: URLCredential?
  /// The credential that the session's storage has for the present hop, which was challenged before.
  var stored: URLCredential?
  /// The answer to the challenge of the present hop's server.
  var answer = HopAnswer()
  /// The answer to that of the proxy that takes its request.
  var proxyAnswer = HopAnswer()
  /// The number of challenges of the present hop that were answered.
  var answeredChallenges = 0
  /// The proof of identity that the host has to give; nil: the session's settings decide.
  var trust: HostTrust?

  var url: URL? { request.url }

  /// The fields that answer the present hop's challenges.
  var answers: [(name: String, value: String)] {
    var fields = answer.value.map { [(name: "Authorization", value: $0)] } ?? []
    if let value = proxyAnswer.value { fields.append(("Proxy-Authorization", value)) }
    return fields
  }

  /// The credential that answers a challenge.
  var offered: URLCredential? { stored ?? (hasLeftOrigin ? nil : credential) }

  mutating func follow(_ next: URLRequest) {
    if isRedirected {
      stored = nil
      (answer, proxyAnswer) = (HopAnswer(), HopAnswer())
      answeredChallenges = 0
    }
    request = HopRequest(next)
    self.next = nil
    if losesBody { hasLostBody = true }
    isRedirected = true
  }
}
