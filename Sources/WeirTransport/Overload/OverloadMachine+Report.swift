import WeirIO

// The machine's answers to the shell before a retry or a hedge, and its values for metrics and logs.
extension OverloadMachine {
  typealias State = OverloadState

  var state: State { silence.isSilent ? .silent : overloadedSince == nil ? .normal : .overloaded }

  /// The attempts that may count at once.
  var limitInUse: Int { min(places, slots) }

  /// B; Bmin while the control is free. Nil while it is unknown.
  var baseline: Double? { places == .max ? latency?.least : latency?.baseline }

  /// Whether load control lets a retry start. One that would have to wait for the limit might be refused, and the answer
  /// that it was to replace would be lost. The retry's budget is another question.
  var allowsRetry: Bool { state == .normal && (limit == nil || ledger.waiting == 0 && hasPlace) }

  /// Whether an attempt may start beside another: it must not disturb a probe, nor take the place of one that waits.
  var allowsHedge: Bool { state == .normal && !isProbing && ledger.waiting == 0 && hasPlace }

  /// Whether a give-up after so many seconds on the wire is a failure for the circuit.
  func isFailure(givenUpAfter seconds: Double) -> Bool { seconds > max(1, 3 * (latency?.least ?? 0)) }

  /// Whether no attempt waits or is on the wire, and there was no call for so many seconds. Such a machine holds next
  /// to no memory once it has been woken.
  func isIdle(for seconds: Double, at now: MonotonicTime) -> Bool {
    ledger.waiting == 0 && ledger.onWire == 0 && now.seconds(since: clock) >= seconds
  }
}

extension OverloadMachine {
  struct Report: Sendable, Equatable {
    /// The probes by what they have shown, since the machine was made.
    struct Probes: Sendable, Equatable {
      var faster = 0
      var same = 0
      var aborted = 0
    }

    /// Requests since the machine was made.
    struct Totals: Sendable, Equatable {
      var arrivals = 0
      /// Final heads, and failures without one.
      var heads = 0
      var refused = Refused()
    }

    /// Refused requests by reason.
    struct Refused: Sendable, Equatable {
      private var overload = 0
      private var waited = 0
      private var silent = 0

      var sum: Int { overload + waited + silent }

      subscript(reason: Refusal) -> Int {
        get {
          switch reason {
          case .overload: overload
          case .waited: waited
          case .silent: silent
          }
        }
        set {
          switch reason {
          case .overload: overload = newValue
          case .waited: waited = newValue
          case .silent: silent = newValue
          }
        }
      }
    }

    let state: State
    /// The attempts that may count at once; the slots while the control is free.
    let limit: Int
    /// The attempts that count.
    let used: Int
    let waiting: Int
    let onWire: Int
    /// Seconds of an answer without a queue, as measured; Bmin while the control is free. Nil while they are unknown.
    let baseline: Double?
    /// μ, in heads per second; nil while it is unknown, as it is while the control is free.
    let rate: Double?
    let probes: Probes
    let totals: Totals
    /// Seconds of the silence that has begun and not ended.
    let silence: Double?
    /// The silence that ended last, with its end.
    let lastSilence: Silence.Ended?
  }

  /// The present figures. Reading them does not change the machine.
  func report(at now: MonotonicTime) -> Report {
    var machine = self
    let now = machine.advance(to: now)
    return Report(
      state: machine.state, limit: machine.limitInUse, used: machine.ledger.counted, waiting: machine.ledger.waiting,
      onWire: machine.ledger.onWire,
      baseline: machine.limit == nil ? machine.latency?.least : machine.latency?.withoutQueue,
      rate: machine.limit == nil ? nil : machine.rate.value(at: now), probes: machine.probes, totals: machine.totals,
      silence: machine.silence.seconds(at: now), lastSilence: machine.silence.ended)
  }
}
