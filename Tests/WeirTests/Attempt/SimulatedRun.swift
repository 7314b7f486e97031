@testable import Weir
@testable import WeirTransport

extension AttemptMachineSimulationTests.Client {
  enum Event {
    case hear, creation(UInt32), retriers(UInt32), delay, value(Int, UInt32), hedge(UInt32)
    case slot(Run, AttemptMachine.Question)
    case answer(Run, AttemptMachine.Holds), transferEnds(Run)
    case parkForSink(Run), receiverDone(Run)
  }

  /// What takes the response's body.
  enum Receiver: UInt64 {
    /// Memory: done when the transfer is.
    case memory
    /// Handlers who may be slow; the end waits for them, without a slot.
    case stream
    /// A file, which gets its place when the transfer is over.
    case file
  }

  struct Wire {
    var isReading = true
    var isSending = true
  }

  /// One attempt.
  final class Run: ExchangeAttempt {
    let number: Int
    private unowned let client: AttemptMachineSimulationTests.Client
    var machine = AttemptMachine()
    var wire: Wire?
    var hasNext = false
    var hasHead = false
    var ticket: (isFirst: Bool, number: UInt64)?
    var failed = false
    var isLost = false
    /// Whether the transfer is over, and the attempt's end waits.
    var hasEnding = false
    /// Of a file: whether the end waits for its place; whether it has waited.
    var isAwaited = false
    var isReceived = false
    /// Whether the receiver wants no more.
    var hasGivenUp = false
    /// Whether its end has waited for handlers.
    var hasGivenUpSlot = false

    init(number: Int, of client: AttemptMachineSimulationTests.Client) {
      self.number = number
      self.client = client
    }

    func beginsWithSlot() { machine.begins() }

    func startBesideAnother() { client.apply(self) { $0.granted() } }

    func decideHedge(_ event: HedgeEvent) {}

    /// Whether it waits for nothing but code that may want its slot.
    var isVacated: Bool { machine.stage == .draining && hasGivenUpSlot }
  }
}
