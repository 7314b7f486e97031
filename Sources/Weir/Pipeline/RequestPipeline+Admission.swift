import WeirCurl
import WeirIO

/// The attempt's place among those to the same destination.
struct AdmissionState {
  /// Set while the attempt waits in the queue.
  var ticket: UInt64?
  /// The same when the attempt had a slot before.
  var returnTicket: UInt64?
  /// Tells the answer to an earlier question from one to the present.
  var question: UInt32 = 0
  var place = Place.outside
  /// When the attempt asked for a slot.
  var began: MonotonicTime?

  enum Place {
    /// Neither a slot nor a connection.
    case outside
    case slot
    /// A connection without a slot.
    case parked
  }

  /// Seconds that the attempt has waited; nil when it never asked.
  func waited(until now: MonotonicTime) -> Double? { began.map { now.seconds(since: $0) } }
}

extension RequestPipeline {
  func admit() {
    announceTask(.running)
    let now = MonotonicTime.now
    admission.began = now
    let step = self.step
    guard let state = destination else { return slotGranted(step, now) }
    let answer = state.ask { [request] in
      request.context.loop.post {
        guard let pipeline = request.context.core.value.pipeline(of: request) else { return state.release() }
        pipeline.slotGranted(step, .now)
      }
    }
    switch answer {
    case .admitted: slotGranted(step, now)
    case .waiting(let ticket):
      admission.ticket = ticket
      startWait(seconds: core.configuration.admissionTimeout)
    case .queueFull: reject(.queueFull, step)
    }
  }

  /// Without a destination there is no slot to count; the attempt fails soon for want of a host.
  private func slotGranted(_ step: RequestMachine.Step, _ now: MonotonicTime) {
    guard decide({ $0.admitted(step) }) else {
      destination?.release()
      return
    }
    leaveQueue()
    if destination != nil { admission.place = .slot }
    startAttempt(at: now)
  }

  func admissionTimedOut() {
    withdraw()
    reject(.admissionTimeout, step)
  }

  private func reject(_ reason: WeirError.RequestRejectionReason, _ step: RequestMachine.Step) {
    let error = WeirError.requestRejected(reason: reason)
    record(error)
    if let task { end(task, error: error) }
    announceCompletion(error)
    perform(decide { $0.rejected(step) })
  }

  /// Leaves the queue before a slot was granted.
  func withdraw() {
    guard let ticket = admission.ticket else { return }
    destination?.withdraw(ticket)
    leaveQueue()
  }

  private func leaveQueue() {
    guard admission.ticket != nil else { return }
    admission.ticket = nil
    endWait()
  }

  // MARK: The slot

  /// An attempt that waits for the caller's code or is suspended keeps its connection, not its slot.
  func park() {
    if admission.returnTicket != nil { withdrawReturn() }
    guard admission.place == .slot, destination?.park() == true else { return }
    admission.place = .parked
    transfer?.pauseSending()
  }

  /// Gives up slot and connection.
  func leaveSlot() {
    withdrawReturn()
    switch admission.place {
    case .outside: return
    case .slot: destination?.release()
    case .parked: destination?.unpark()
    }
    admission.place = .outside
  }

  /// Goes on with the transfer or the next hop; at once if the attempt has a slot, else when it has one again.
  func goOn() {
    guard admission.place != .slot, let state = destination else { return proceed() }
    guard admission.returnTicket == nil else { return }
    admission.question &+= 1
    let answer = state.askAgain { [request, question = admission.question] in
      request.context.loop.post {
        let pipeline = request.context.core.value.pipeline(of: request)
        if pipeline?.slotRegained(question) != true { state.release() }
      }
    }
    guard case .waiting(let ticket) = answer else { return takeSlot() }
    admission.returnTicket = ticket
    admission.began = .now
    body.holds.insert(.slot)
  }

  private func slotRegained(_ question: UInt32) -> Bool {
    guard admission.returnTicket != nil, admission.question == question else { return false }
    admission.returnTicket = nil
    body.holds.remove(.slot)
    if let waited = admission.waited(until: .now) { tally.waited(waited) }
    takeSlot()
    return true
  }

  /// There is more of the body to be sent; who has no slot goes on when it has one again.
  func bodyArrived() {
    if admission.place != .parked, !body.holds.contains(.suspended) { transfer?.resumeSending() }
  }

  private func takeSlot() {
    if admission.place == .parked { destination?.unpark() }
    admission.place = .slot
    transfer?.resumeSending()
    proceed()
  }

  private func withdrawReturn() {
    guard let ticket = admission.returnTicket else { return }
    admission.returnTicket = nil
    body.holds.remove(.slot)
    destination?.withdrawAgain(ticket)
  }
}
