import Synchronization

/// The steps in which a client's request differs from other exchanges. Its machine is under the request's lock.
extension RequestPipeline: ExchangeRun {
  var machine: ExchangeMachine { decide { $0.exchange } }

  @inline(__always)
  func change<Answer>(_ input: (inout ExchangeMachine) -> Answer) -> Answer { decide { $0.change(input) } }

  func admit() { attempt?.admit() }

  func cancelAttempt() { attempt?.cancel() }

  func settle() { perform(decide { $0.exchangeIsOver() }) }

  // MARK: Second attempts

  var mayRunTwice: Bool {
    let (initial, isWanted) = request.fields.withLock {
      ($0.attempt?.initial, $0.machine.isTransferring && !$0.machine.isSuspended)
    }
    return isWanted && initial.map(mayRunTwice) ?? false
  }

  /// Whether two attempts at once have the same effect as one, and each has a body of its own.
  private func mayRunTwice(_ hop: HopRequest) -> Bool {
    guard request.mayRunTwice, HTTPMethod.idempotent.contains(HTTPMethod(rawValue: hop.method)), bodyStream == nil
    else { return false }
    switch request.makeBody(of: hop) {
    case .none, .data, .file: return true
    case .stream: return false
    }
  }

  /// Adapts the initial request once more. If the adapters fail, the request continues without a second attempt.
  func prepareRival() {
    let (initial, step) = request.fields.withLock { ($0.attempt?.initial, $0.machine.step) }
    guard let initial else { return }
    let adapters = core.adapters(of: request)
    guard !adapters.isEmpty else { return startRival(initial, adapted: nil) }
    adapt(initial.urlRequest, by: adapters, step) { pipeline, result, step in
      guard case .success(let adapted) = result, pipeline.decide({ $0.isWaiting(in: step) }) else { return }
      pipeline.startRival(initial, adapted: HopRequest(adapted))
    }
  }

  private func startRival(_ initial: HopRequest, adapted: HopRequest?) {
    let hop = adapted ?? initial
    guard !decide({ $0.isSuspended }), mayRunTwice(hop) else { return }
    startRival { number, keep in
      request.fields.withLock { $0.beginRival(number, initial: initial, adapted: adapted) }
      makeTask(for: hop, rival: number, keep)
    }
  }

  func shows(_ attempt: RequestAttempt) { request.fields.withLock { $0.show(attempt.number) } }

  func abandon(_ rival: RequestAttempt) { rival.lose(rival.urlError(.cancelled, "the attempt is of no use any more")) }
}
