import Testing

@testable import Weir

/// Answers to the present step.
extension RequestMachine {
  fileprivate mutating func created() -> Action { created(step) }
  fileprivate mutating func admitted() -> Admittance { admitted(step) }
  fileprivate mutating func decided(_ decision: Decision) -> Action { decided(decision, step) }
  fileprivate mutating func serialized(_ index: Int, asksRetriers: Bool) -> Action {
    serialized(index, asksRetriers: asksRetriers, step)
  }
}

@Suite("RequestMachine")
struct RequestMachineTests {
  private func transferring() -> RequestMachine {
    var machine = RequestMachine()
    #expect(machine.resume() == (true, .create))
    #expect(machine.created() == .start)
    #expect(machine.admitted() == .start)
    return machine
  }

  @Test("A plain success goes through every stage once")
  func success() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: false) == .finish)
    #expect(machine.finishing() == true)
    #expect(machine.nextHandler(of: 2) == .serialize(0))
    #expect(machine.serialized(0, asksRetriers: false) == .none)
    #expect(machine.nextHandler(of: 2) == .serialize(1))
    #expect(machine.serialized(1, asksRetriers: false) == .none)
    #expect(machine.nextHandler(of: 2) == .settle)
    machine.delivered()
    #expect(machine.state == .finished)
    #expect(machine.cancel() == (false, .none))
  }

  @Test("Verbs that change nothing say so")
  func illegalVerbs() {
    var machine = RequestMachine()
    #expect(machine.resume().changed)
    #expect(!machine.resume().changed)
    #expect(machine.suspend().changed)
    #expect(!machine.suspend().changed)
    #expect(machine.cancel().changed)
    #expect(!machine.resume().changed)
    #expect(!machine.suspend().changed)
    #expect(!machine.cancel().changed)
  }

  @Test("Suspended before it starts, a request is held, and resume starts it")
  func suspendBeforeStart() {
    var machine = RequestMachine()
    #expect(machine.resume() == (true, .create))
    #expect(machine.suspend() == (true, .none))
    #expect(machine.created() == .hold)
    #expect(machine.resume() == (true, .start))
    #expect(machine.suspend() == (true, .none))
    #expect(machine.admitted() == .hold)
    #expect(machine.resume() == (true, .start))
    #expect(machine.admitted() == .start)
    #expect(machine.suspend() == (true, .suspendTransfer))
    #expect(machine.resume() == (true, .resumeTransfer))
  }

  @Test("Eager setup waits for resume")
  func eager() {
    var machine = RequestMachine()
    #expect(machine.prepare() == .create)
    #expect(machine.prepare() == .none)
    #expect(machine.created() == .hold)
    #expect(machine.resume() == (true, .start))
  }

  @Test("A granted retry begins anew after its delay")
  func retry() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: true) == .askRetriers)
    #expect(machine.decided(.retry(after: 0.5)) == .wait(0.5))
    #expect(machine.delayElapsed() == .retry)
    #expect(machine.created() == .start)
  }

  @Test("A retry granted at the head throws the body away first")
  func retryAtHead() {
    var machine = transferring()
    #expect(machine.headArrived() == .askRetriers)
    #expect(machine.decided(.retry(after: 0)) == .discardTransfer)
    #expect(machine.transferEnded(failed: false) == .wait(0))
    #expect(machine.delayElapsed() == .retry)
  }

  @Test("Refused at the head, the response goes on")
  func refusedAtHead() {
    var machine = transferring()
    #expect(machine.headArrived() == .askRetriers)
    #expect(machine.decided(.stop) == .continueTransfer)
    #expect(machine.transferEnded(failed: false) == .finish)
  }

  @Test("Answers to a step that is over are ignored")
  func staleAnswers() {
    var machine = RequestMachine()
    #expect(machine.resume() == (true, .create))
    let creating = machine.step
    #expect(machine.cancel() == (true, .finish))
    #expect(machine.created(creating) == .none)
    #expect(machine.creationFailed(creating) == .none)
    #expect(machine.admitted(creating) == .stale)
    #expect(machine.decided(.retry(after: 0), creating) == .none)
    #expect(machine.delayElapsed() == .none)
  }

  @Test("Cancelling on the wire waits for the transfer's end")
  func cancelTransfer() {
    var machine = transferring()
    #expect(machine.cancel() == (true, .cancelTransfer))
    #expect(machine.fail() == .none)
    #expect(machine.transferEnded(failed: true) == .finish)
    #expect(machine.state == .cancelled)
  }

  @Test("The deadline tears a transfer down and asks nobody")
  func deadline() {
    var machine = transferring()
    #expect(machine.fail() == .cancelTransfer)
    #expect(machine.transferEnded(failed: true) == .finish)
    #expect(machine.state == .resumed)
  }

  @Test("A serializer may ask for another attempt")
  func serializerRetry() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: false) == .finish)
    #expect(machine.finishing() == true)
    #expect(machine.nextHandler(of: 1) == .serialize(0))
    #expect(machine.serialized(0, asksRetriers: true) == .askRetriers)
    #expect(machine.decided(.retry(after: 0)) == .wait(0))
    #expect(machine.delayElapsed() == .retry)
    #expect(machine.finishing() == true, "requestDidFinish comes again after such a retry")
  }
}
