import WeirIO

/// The attempt's place among those to the same destination.
struct AdmissionState {
  /// Set while the attempt waits in the queue.
  var ticket: UInt64?
  var holdsSlot = false
  /// When the attempt asked for a slot.
  var began: MonotonicTime?

  /// Seconds that the attempt has waited; nil when it never asked.
  func waited(until now: MonotonicTime) -> Double? { began.map { now.seconds(since: $0) } }
}

extension RequestPipeline {
  func admit() {
    announceTask(.running)
    admission.began = .now
    let step = self.step
    guard let state = destination else { return admitted(step) }
    let answer = state.ask { [request] in
      request.context.loop.run {
        guard let pipeline = request.context.core.value.pipeline(of: request) else { return state.release() }
        pipeline.slotGranted(step)
      }
    }
    switch answer {
    case .admitted: slotGranted(step)
    case .waiting(let ticket):
      admission.ticket = ticket
      startWait(seconds: core.configuration.admissionTimeout)
    case .queueFull: reject(.queueFull, step)
    }
  }

  private func slotGranted(_ step: RequestMachine.Step) {
    switch decide({ $0.admitted(step) }) {
    case .start:
      leaveQueue()
      admission.holdsSlot = true
      startAttempt()
    case .hold:
      leaveQueue()
      destination?.release()
      announceTask(.suspended)
    case .stale: destination?.release()
    }
  }

  /// Without a destination there is nothing to count; the attempt fails soon for want of a host.
  private func admitted(_ step: RequestMachine.Step) {
    if decide({ $0.admitted(step) }) == .start { startAttempt() }
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
  func giveSlot() {
    guard admission.holdsSlot else { return }
    admission.holdsSlot = false
    destination?.release()
  }

  func retakeSlot() {
    guard !admission.holdsSlot, let state = destination else { return }
    admission.holdsSlot = true
    state.retake()
  }
}
