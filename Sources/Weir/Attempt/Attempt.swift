import Foundation
import FoundationNetworking
import WeirCurl
import WeirIO

/// One attempt of a request, redirects included: the thin shell around an ``AttemptMachine``. It lives on the loop from
/// the task's creation until the next attempt or the request's end, and has all that is of this attempt alone: its number
/// and task, its slot, the hop on the wire, the response's body, what it cost.
final class Attempt {
  let pipeline: RequestPipeline
  /// 1 for the first.
  let number: Int
  /// The request's retries so far, this one included.
  let retryCount: Int
  let task: TransferTask
  @exclusivity(unchecked) var machine = AttemptMachine()
  @exclusivity(unchecked) private(set) var lease: SlotLease
  @exclusivity(unchecked) var hop: Hop
  var transfer: Transfer?
  @exclusivity(unchecked) var body = ResponseBody(limit: nil)
  @exclusivity(unchecked) var tally = TransferTally()
  /// Nil where nothing is looked up or stored.
  var caching: CacheUse?
  /// The last question to the cache.
  var lookup: UInt32 = 0
  /// What the destination's circuit gave, if there is one.
  var pass: Circuit.Pass?
  /// Whether its final head has come.
  var hasAnswered = false
  /// What it cost, once it is over.
  var metrics: TransferMetrics?
  /// Whether its completion was told.
  var isCompleted = false
  /// Of one that starts beside another: whether it is on the wire, until it is told what became of it.
  private var hedge: Hedge?
  /// Whether another attempt gave the answer, or may give it: what still comes of this one is of no use.
  private(set) var isLost = false
  /// For the wait for a first slot, for the rest of a body that nobody wants, or for a file; there is never more than one.
  private var timer: LoopTimer?

  private enum Hedge { case starting, undecided }

  init(_ hop: HopRequest, number: Int, retryCount: Int, task: TransferTask, of pipeline: RequestPipeline) {
    self.pipeline = pipeline
    self.number = number
    self.retryCount = retryCount
    self.task = task
    self.hop = Hop(request: hop)
    lease = SlotLease(pipeline.destination)
  }

  var request: Request { pipeline.request }
  var core: SessionCore { pipeline.core }
  var context: SessionContext { pipeline.context }

  // MARK: What the machine says

  func perform(_ actions: AttemptMachine.Actions) {
    if actions.isEmpty { return }
    if actions.contains(.withdraw) { withdraw() }
    if actions.contains(.release) { lease.release() }
    if actions.contains(.unpark) { lease.unpark() }
    if actions.contains(.pauseReceiving) { transfer?.pauseReceiving() }
    if actions.contains(.pauseSending) { transfer?.pauseSending() }
    if actions.contains(.park), lease.park() { perform(machine.parked()) }
    if actions.contains(.ask) { ask() }
    if actions.contains(.askAgain), lease.askAgain(waiter()) { perform(machine.granted()) }
    if actions.contains(.resumeSending) { transfer?.resumeSending() }
    if actions.contains(.startHop) { startHop() }
    if actions.contains(.resumeReceiving) {
      transfer?.resumeReceiving()
      feedFromCache()
    }
    if actions.contains(.cancelTransfer) { transfer?.cancel() }
    if actions.contains(.conclude) { conclude() }
    if actions.contains(.end) { ended(error: urlError(.cancelled, "the task was cancelled")) }
  }

  /// Stops reading until every reason to wait is gone.
  func hold(_ reason: AttemptMachine.Holds) { perform(machine.hold(reason)) }

  func release(_ reason: AttemptMachine.Holds) {
    perform(machine.release(reason))
    // What is left of the last read waited too.
    if reason == .sink, machine.holds.contains(.decoding) { continueDecodingNextTurn() }
  }

  /// Gives up the slot while the receiver is waited for.
  func park() { perform(machine.park(for: .sink)) }

  /// There is more of the request's body; who has no slot goes on when it has one again.
  func bodyArrived() {
    if machine.sends { transfer?.resumeSending() }
  }

  // MARK: The slot

  /// Asks the destination to let the attempt through, unless a stored response will do.
  func admit() {
    announce(.running)
    if !consultCache() { perform(machine.admit()) }
  }

  /// Waits no more for a first slot; the task exists and is suspended.
  func leaveQueue() {
    lookup &+= 1
    perform(machine.withdraw())
    returnPass()
    announce(.suspended)
  }

  private func ask() {
    let now = MonotonicTime.now
    if let rejection = passCircuit(at: now) { return reject(withdrawn: rejection) }
    let (answer, beginsWatch) = lease.ask(pipeline.takeStart(), at: now, waiter())
    if beginsWatch { pipeline.watchRetryBudget() }
    switch answer {
    case .granted: granted(machine.question, now)
    case .waiting: startTimer(seconds: core.configuration.admissionTimeout)
    case .queueFull: reject(.queueFull)
    }
  }

  /// Called when the slot is there that the present question is about.
  private func waiter() -> DestinationState.Waiter {
    { [request, task, question = machine.question, destination = pipeline.destination] in
      request.context.loop.post {
        let attempt = request.context.core.value.pipeline(of: request)?.attempt(of: task)
        if let attempt { attempt.granted(question, .now) } else { destination?.release() }
      }
    }
  }

  /// A slot is there. Nobody may wait for it any more, or the caller has just cancelled: then it goes back at once.
  private func granted(_ question: AttemptMachine.Question, _ now: MonotonicTime) {
    guard machine.awaits(question) else { return lease.release() }
    if machine.wait == .first {
      // The circuit may have opened meanwhile.
      if let rejection = passCircuit(at: now) {
        lease.release()
        return reject(withdrawn: rejection)
      }
      guard pipeline.decide({ $0.admitted($0.step) }) else { return lease.release() }
      stopTimer()
    } else if let waited = lease.waited(until: now) {
      tally.waited(waited)
    }
    lease.granted(at: now)
    perform(machine.granted())
  }

  private func withdraw() {
    lease.withdraw()
    if !machine.hasStarted { stopTimer() }
  }

  private func reject(withdrawn reason: WeirError.RequestRejectionReason) {
    perform(machine.withdraw())
    reject(reason)
  }

  private func reject(_ reason: WeirError.RequestRejectionReason) {
    let error = WeirError.requestRejected(reason: reason)
    pipeline.record(error)
    complete(error: error)
    announceCompletion(error)
    pipeline.perform(pipeline.decide { $0.rejected($0.step) })
  }

  // MARK: Beside other attempts

  /// Goes on the wire with a slot that was free.
  func startBesideAnother() {
    hedge = .starting
    announce(.running)
    let now = MonotonicTime.now
    // Where another thread has opened the circuit since the hedge was granted, its end counts for nothing.
    _ = passCircuit(at: now)
    lease.granted(at: now)
    perform(machine.granted())
  }

  /// It is on the wire: a second attempt, or one that may get a second beside it.
  func joinRace(_ plan: HedgePlan) {
    if hedge == nil { return pipeline.raceBegins(with: self, plan) }
    hedge = .undecided
    pipeline.monitors.request(request, hedge: .started)
  }

  /// Tells what became of it, if it is one that started beside another.
  func decideHedge(_ event: HedgeEvent) {
    if hedge == .undecided { pipeline.monitors.request(request, hedge: event) }
    hedge = nil
  }

  /// Ends here, heard of by nobody but who measures.
  func lose(_ error: URLError?) {
    isLost = true
    stopTimer()
    // Left out, those that were too slow would make the others look slow.
    if !hasAnswered { noteLatency() }
    if let transfer {
      tally.add(transfer.report())
      transfer.cancel()
    }
    complete(error: error)
    core.connectionUsed(isReused: tally.isReusedConnection, isIdle: false, lease.destination?.destination)
    announceAttempt(error: error.map { .sessionTaskFailed(error: $0) })
  }

  // MARK: Steering

  func suspend() {
    guard announce(.suspended) else { return }
    returnPass()
    perform(machine.suspend())
  }

  func resume() {
    if announce(.running) { perform(machine.resume()) }
  }

  /// Ends the attempt in the request's name: cancelled, or beyond its deadline.
  func cancel() {
    guard task.state != .completed else { return completed(nil) }
    task.setState(.canceling)
    if pipeline.decide({ $0.state == .cancelled }) { pipeline.monitors.request(request, didCancelTask: task) }
    endTransfer()
  }

  /// As libcurl would end a cancelled transfer, wherever the attempt is.
  private func endTransfer() {
    hop.next = nil
    body.isGivenUp = false
    body.isAwaited = false
    if machine.stage == .draining { body.failure = urlError(.cancelled, "the task was cancelled") }
    perform(machine.cancel())
  }

  /// The task itself was told to, by whoever has it.
  func suspendTask() {
    guard machine.hasStarted, task.setState(.suspended) else { return }
    returnPass()
    perform(machine.suspend())
  }

  /// The receiver of the response can't go on: the attempt fails with its error.
  func receiverFailed(_ error: WeirError) {
    guard task.state != .completed, body.receiverFailure == nil else { return }
    body.receiverFailure = error
    cancelTask()
  }

  func resumeTask() {
    if machine.hasStarted, task.setState(.running) { perform(machine.resume()) }
  }

  func cancelTask() {
    guard task.state != .completed else { return }
    task.setState(.canceling)
    endTransfer()
  }

  /// Sets the task's state and tells of it. False: the task is completed already, and stays so.
  @discardableResult
  private func announce(_ state: TransferTask.State) -> Bool {
    guard task.setState(state) else { return false }
    if state == .suspended {
      pipeline.monitors.request(request, didSuspendTask: task)
    } else {
      pipeline.monitors.request(request, didResumeTask: task)
    }
    return true
  }

  // MARK: Time

  /// How long the rest of a body that nobody wants may take, so that its connection can be used again.
  private static let unwantedBodyTime = 0.25

  func limitUnwantedBody() { startTimer(seconds: Self.unwantedBodyTime) }

  /// How long the end of a cancelled request may wait for a file.
  private static let receiverTime = 1.0

  func limitReceiver() { startTimer(seconds: Self.receiverTime) }

  private func startTimer(seconds: Double) {
    let timer = timer ?? LoopTimer()
    self.timer = timer
    core.loop.schedule(timer, at: MonotonicTime.now.advanced(bySeconds: seconds), handler: self)
  }

  func stopTimer() {
    if let timer { core.loop.cancel(timer) }
  }

  /// An error of weir's own making, with the URL it is about.
  func urlError(_ code: URLError.Code, _ text: String) -> URLError {
    pipeline.urlError(code, text)
  }
}

extension Attempt: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    if machine.stage == .draining {
      body.isGivenUp = true
      body.isAwaited = false
      conclude()
    } else if machine.hasStarted {
      // The rest of a body that nobody wants does not come: a new connection is cheaper than waiting.
      body.isGivenUp = true
      transfer?.cancel()
    } else if pipeline.decide({ $0.awaitsSlot }) {
      perform(machine.withdraw())
      reject(.admissionTimeout)
    }
  }
}
