package import WeirCurl
package import WeirIO

/// One attempt of an exchange, from the request for a slot to the end of its last hop: the thin shell around an
/// ``AttemptMachine``. It has its slot, its circuit's pass, the transfer on the wire and the costs so far. The delegate
/// provides the requests and judges the responses.
///
/// Confined to the loop. It holds its delegate until it has ended.
package final class Attempt {
  package let transport: Transport
  package let exchange: any TransportExchange
  /// 1 for the first.
  package let number: Int
  @exclusivity(unchecked) package internal(set) var machine = AttemptMachine()
  @exclusivity(unchecked) package internal(set) var costs = AttemptCosts()
  @exclusivity(unchecked) var lease: SlotLease
  let admission: ExchangeAdmission
  @exclusivity(unchecked) package internal(set) var transfer: (any TransferHandle)?
  /// Nil once the attempt has ended.
  @exclusivity(unchecked) private(set) var delegate: (any AttemptDelegate)?
  @exclusivity(unchecked) var lastStatus: Int?
  /// The pass that the circuit gave; nil without a circuit.
  @exclusivity(unchecked) var pass: Circuit.Pass?
  /// The turn by the destination's pace; nil without one.
  @exclusivity(unchecked) var turn: PaceTurn?
  /// The limit on its time; nil without one.
  @exclusivity(unchecked) var limit: AttemptLimit?
  /// The endpoint that was selected for it, if its destination has a set of them.
  @exclusivity(unchecked) var selection: EndpointSelection?
  /// Whether it failed before anything was sent to its endpoint.
  @exclusivity(unchecked) var couldNotConnect = false
  /// Whether its endpoint is left out, as its answer asks for that; another one has asked for nothing.
  @exclusivity(unchecked) package var hasLeftEndpointOut = false
  /// False if nothing of it had been sent when it ended.
  @exclusivity(unchecked) package private(set) var wasSent = true
  /// Whether its final head has come.
  @exclusivity(unchecked) package internal(set) var hasAnswered = false
  /// How the attempt ends, if it is ended from outside before its final head.
  @exclusivity(unchecked) var cancelReason = AttemptEnding.withdrawn
  /// Whether the request's body is on its way and takes as long as its source wants, or a proxy has to make the way first.
  @exclusivity(unchecked) var isUploading = false
  /// Whether a proxy is on the way of the present hop.
  @exclusivity(unchecked) var isProxied = false
  /// Whether it waits for the caller's code, and is no load meanwhile.
  @exclusivity(unchecked) var isSetAside = false
  /// Set for a second attempt, until its observer knows what became of it.
  @exclusivity(unchecked) private var hedge: Hedge?
  /// Whether another attempt gives the answer, so that the rest of this one is of no use.
  @exclusivity(unchecked) package private(set) var isLost = false
  @exclusivity(unchecked) var unwanted = UnwantedBody()
  /// Times the wait for a first slot, for the rest of an unwanted body, or for a receiver. Only one of them is under
  /// way.
  @exclusivity(unchecked) private var timer: LoopTimer?

  private enum Hedge { case starting, undecided }

  package init(transport: Transport, exchange: any TransportExchange, number: Int) {
    self.transport = transport
    self.exchange = exchange
    self.number = number
    admission = exchange.admission
    lease = SlotLease(admission.state)
  }

  /// Sets the delegate, before anything is asked of the attempt.
  package func report(to delegate: any AttemptDelegate) { self.delegate = delegate }

  var controls: DestinationControls { admission.controls }

  /// The status of the last head; nil before there is one. Stored under another name, since code in other modules checks
  /// each access to a stored property.
  package var status: Int? { lastStatus }

  // MARK: The machine's actions

  func perform(_ actions: AttemptMachine.Actions) {
    if actions.isEmpty { return }
    if actions.contains(.withdraw) { withdraw() }
    if actions.contains(.release) { lease.release() }
    if actions.contains(.unpark) { lease.unpark() }
    if actions.contains(.pauseReceiving) { transfer?.pauseReceiving() }
    if actions.contains(.pauseSending) { transfer?.pauseSending() }
    if actions.contains(.park), lease.park() {
      countsNoMore()
      perform(machine.parked())
    }
    if actions.contains(.drain), lease.drain() {
      machine.drains()
      selection?.leave()
    }
    if actions.contains(.ask) { ask() }
    if actions.contains(.askAgain), lease.askAgain(waiter()) {
      countsAgain()
      perform(machine.granted())
    }
    if actions.contains(.resumeSending) { transfer?.resumeSending() }
    if actions.contains(.startHop) { delegate?.attemptIsDue(self) }
    if actions.contains(.resumeReceiving) {
      transfer?.resumeReceiving()
      delegate?.attemptReadsOn(self)
    }
    if actions.contains(.cancelTransfer) { transfer?.cancel() }
    if actions.contains(.conclude) { delegate?.attemptConcludes(self) }
    if actions.contains(.end) { delegate?.attemptWasCancelled(self) }
  }

  /// Performs actions after which the attempt may read where it did not, or the other way round.
  func steer(_ actions: AttemptMachine.Actions) {
    perform(actions)
    if limit != nil { steerClock() }
  }

  /// Stops reading until every reason to wait is gone.
  package func hold(_ reason: AttemptMachine.Holds) { steer(machine.hold(reason)) }

  package func release(_ reason: AttemptMachine.Holds) { steer(machine.release(reason)) }

  /// Gives up the slot, and keeps the connection, while the caller's code is waited for.
  package func park(for reason: AttemptMachine.Holds) { steer(machine.park(for: reason)) }

  /// Gives up the slot for good, as the receiver of the response is slow. The attempt goes on as the receiver takes more,
  /// unless too many wait so at the destination: then ``SlowReader/end`` is called for the slowest of them.
  package func drain(to reader: SlowReader) {
    let actions = machine.drain()
    if actions.isEmpty { return }
    lease.reader = reader
    perform(actions)
  }

  /// Gives up the slot while the end waits for the receiver, whose code may need the slot.
  package func vacate() {
    leaveEndpoint()
    perform(machine.vacate())
  }

  /// The transfer is over and the receiver is not: gives up the slot, as the receiver's code may need it.
  package func awaitReceiver() { perform(machine.awaitReceiver()) }

  /// The transfer is over. Returns whether the end has to wait for the response's receiver.
  package func awaitsEnd(failed: Bool) -> Bool { machine.transferEnded(failed: failed) }

  /// A stored response is served from now on.
  package func serves() { machine.serves() }

  /// Another hop follows.
  package func goesOn() { steer(machine.redirected()) }

  /// More of the request's body is there. An attempt without a slot sends it once it has one again.
  package func bodyArrived() {
    if limit != nil { awaitsBody(false) }
    if machine.sends { transfer?.resumeSending() }
  }

  // MARK: The slot

  /// Asks the destination to let the attempt through.
  package func admit() { perform(machine.admit()) }

  /// Stops waiting for a first slot.
  package func leaveQueue() {
    perform(machine.withdraw())
    returnPass()
  }

  // MARK: Beside other attempts

  /// Goes on the wire with a slot that was taken for it (``ExchangeAdmission/takesHedge(at:)``).
  package func startBesideAnother() {
    // A monitor that was told of it may have ended the race.
    if isLost { return }
    hedge = .starting
    let now = MonotonicTime.now
    // If another thread has opened the circuit since the hedge was granted, the attempt's end does not count.
    _ = passCircuit(at: now)
    lease.joins(hasControl: controls.overload != nil, at: now)
    perform(machine.granted())
  }

  /// Gives the attempt a slot from its beginning, without asking. The turn that was taken with it is the attempt's even if
  /// the race ends before it is sent.
  package func beginsWithSlot() {
    machine.begins()
    if controls.pace != nil { takesRivalTurn() }
  }

  /// Whether the attempt started beside another one.
  package var isHedge: Bool { hedge != nil }

  /// Tells the observer what became of the attempt, if it started beside another one.
  package func decideHedge(_ event: HedgeEvent) {
    if hedge == .undecided { exchange.observer?.exchange(exchange, hedge: event) }
    hedge = nil
  }

  /// Another attempt gives the answer. The delegate ends this one next.
  package func lose() {
    isLost = true
    stopTimer()
    if let limit { transport.loop.cancel(limit.timer) }
    guard let transfer else { return }
    // Without the latencies of slow attempts the quantile would fall, and ever more attempts would be hedged. One that has
    // failed, or was not sent, tells nothing of how long a head takes.
    if !hasAnswered { noteLatency() }
    costs.add(transfer.report())
    transfer.cancel()
  }

  // MARK: The wire

  /// Puts a hop on the wire. Throws the error with which it could not be started.
  package func send(_ spec: consuming TransferSpec, headers: PreparedHeaders) throws(TransferError) {
    spec.tag = lease.destination
    if let selection {
      if let connections = selection.endpoint.connections { spec.tag = connections }
      spec.endpoint = selection.endpoint.destination
      if let url = selection.endpoint.url { spec.url = url }
    }
    isProxied = transport.isProxied(spec)
    if spec.leavesAtOnce, !isProxied { hasUploaded() } else { uploads() }
    transfer = try transport.start(spec, headers: headers, delegate: self)
  }

  /// Gives away the transfer of a response that switches protocols. The delegate ends the attempt next, which was
  /// answered. Nil if the response does not do that.
  package func handOver(to delegate: any TransferDelegate) -> (any TransferHandle)? {
    guard let transfer, transfer.hasSwitched else { return nil }
    costs.add(transfer.report())
    self.transfer = nil
    transfer.handOver(to: delegate)
    return transfer
  }

  /// Whether the response switches to a protocol that the request asked for.
  package var hasSwitched: Bool { transfer?.hasSwitched ?? false }

  /// The present hop goes on the wire: the first one begins the attempt.
  package func hopStarts() {
    if !machine.hasStarted { begin() }
    machine.hopStarts()
    unwanted = UnwantedBody()
    if let limit {
      limit.hopStarts()
      steerClock()
    }
  }

  private func begin() {
    let now = lease.grantedAt ?? .now
    costs.begin(queue: lease.waited(until: now), at: now)
    delegate?.attemptBegan(self)
    exchange.observer?.exchange(exchange, didStartAttempt: number)
    guard hedge == .starting else { return }
    hedge = .undecided
    exchange.observer?.exchange(exchange, hedge: .started)
  }

  /// Reads and drops the rest of the hop's body, as long as that is cheaper than a new connection.
  package func discardBody() {
    unwanted.isDiscarded = true
    startTimer(seconds: UnwantedBody.longest)
  }

  /// Whether the bytes of the hop's body are read and dropped.
  package var discardsBody: Bool { unwanted.isDiscarded }

  /// Whether the rest of the body, or the receiver's work at the end, took too long.
  package var hasGivenUp: Bool { unwanted.isGivenUp }

  /// The error of a hop's transfer, if it matters. The way in which an unwanted body ended does not.
  package func judged(_ error: TransferError?) -> TransferError? {
    guard let error, unwanted.isDiscarded else { return error }
    return error.kind == .attemptTimeout || error.kind == .cancelled && !unwanted.isGivenUp ? error : nil
  }

  // MARK: Steering

  package func suspend() {
    returnPass()
    steer(machine.suspend())
  }

  package func resume() { steer(machine.resume()) }

  /// Ends the attempt wherever it is, as the engine would end a cancelled transfer.
  package func cancel(_ reason: AttemptEnding = .withdrawn) {
    cancelReason = reason
    unwanted.isGivenUp = false
    perform(machine.cancel())
  }

  /// Ends the transfer after so many seconds without a byte from now on; 0 for no limit.
  package func limitSilence(to seconds: Double) { transfer?.limitSilence(to: seconds) }

  // MARK: Costs

  /// This many bytes were handed on, decoded if they had a coding.
  package func handedOn(_ count: Int) { costs.sums.bytesDecoded += Int64(count) }

  /// A hop's transfer has been measured: its report is added.
  package func measured(_ report: TransferReport) { costs.add(report) }

  /// Another hop follows: a redirect, or the same request once more.
  package func follows(isRedirected: Bool) { costs.follows(isRedirected: isRedirected) }

  /// The body has no coding, whatever the last head said.
  package func forgetContentEncoding() { costs.sums.contentEncoding = nil }

  // MARK: The end

  /// Ends the attempt and gives back its place at the destination.
  ///
  /// - Parameters:
  ///   - status: The status of the last response.
  ///   - failure: What an end without a final head says about the destination.
  /// - Returns: The attempt's costs.
  @discardableResult
  package func end(
    status: Int?, at now: MonotonicTime = .now, _ failure: @autoclosure () -> Failure?
  ) -> AttemptReport {
    let hasStarted = machine.hasStarted
    // Before the slot goes to another attempt, which may want the endpoint's place.
    selection?.leave()
    perform(machine.end())
    decideHedge(.lost)
    if !hasStarted {
      // A response from the cache has cost the upstream nothing.
      costs = AttemptCosts()
      costs.begin(queue: lease.waited(until: now), at: now)
    }
    let report = costs.report(now: now, status: status)
    if !hasAnswered { wasSent = !report.isUnsent }
    if let limit { transport.loop.cancel(limit.timer) }
    if turn != nil { endTurn(at: now) }
    if hearsOfEnds { tellEnd(failure(), report, at: now) }
    leaveEndpoint(at: now)
    delegate = nil
    return report
  }

  /// Tells the observer what became of the connection. Called once the attempt has ended.
  package func connectionUsed(isIdle: Bool) {
    transport.connectionUsed(
      isReused: costs.sums.isReusedConnection, isIdle: isIdle && machine.hasStarted, lease.destination?.destination)
  }

  /// Tells the observer that the attempt is over and judged, if it was on the wire.
  package func announceEnd(_ report: AttemptReport, _ error: @autoclosure () -> (any LabelledError)?) {
    guard machine.hasStarted, let observer = exchange.observer else { return }
    observer.exchange(exchange, didEndAttempt: number, report, error: error())
  }

  // MARK: Time

  /// Gives the receiver this many seconds for the end.
  package func limitReceiver(seconds: Double) { startTimer(seconds: seconds) }

  func startTimer(seconds: Double) {
    let timer = timer ?? LoopTimer()
    self.timer = timer
    transport.loop.schedule(timer, at: MonotonicTime.now.advanced(bySeconds: seconds), handler: self)
  }

  package func stopTimer() {
    if let timer { transport.loop.cancel(timer) }
  }
}
