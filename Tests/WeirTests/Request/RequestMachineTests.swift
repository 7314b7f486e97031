import Testing

@testable import Weir

/// Answers to the present step. What the exchange says of its end leads to the request's.
extension RequestMachine {
  /// The caller acts and the loop hears of it at once; nil when nothing changed.
  fileprivate mutating func does(_ verb: Verb) -> Action? {
    act(verb) ? hears() : nil
  }

  fileprivate mutating func hears() -> Action? { hear().map { settled($0.action) } }
  fileprivate mutating func created() -> Action { created(step) }
  fileprivate mutating func admitted() -> Bool { admitted(step) }
  fileprivate mutating func transferEnded(failed: Bool) -> Action {
    settled(.exchange(change { $0.attemptEnded(failed: failed) }))
  }
  fileprivate mutating func decided(_ verdict: RetryDecision?) -> Action {
    settled(.exchange(change { $0.decided(verdict) }))
  }
  fileprivate mutating func delayElapsed() -> Action {
    defer { begins() }
    return settled(.exchange(change { $0.delayElapsed() }))
  }
  fileprivate mutating func serialized(_ index: Int, asksRetriers: Bool) -> Action {
    serialized(index, asksRetriers: asksRetriers, step)
  }

  private mutating func settled(_ action: Action) -> Action {
    switch action {
    case .exchange(.settle): exchangeIsOver()
    case .exchange(.none): .none
    default: action
    }
  }
}

@Suite("RequestMachine")
struct RequestMachineTests {
  private func transferring() -> RequestMachine {
    var machine = RequestMachine()
    #expect(machine.does(.resume) == .exchange(.prepare))
    #expect(machine.created() == .exchange(.attempt))
    #expect(machine.admitted() == true)
    return machine
  }

  @Test("A plain success goes through every stage once")
  func success() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: false) == .finish)
    #expect(machine.finishing(hasHandlers: true) == true)
    #expect(machine.nextHandler(of: 2) == .serialize(0))
    #expect(machine.serialized(0, asksRetriers: false) == .nextHandler)
    #expect(machine.nextHandler(of: 2) == .serialize(1))
    #expect(machine.serialized(1, asksRetriers: false) == .nextHandler)
    #expect(machine.nextHandler(of: 2) == .settle)
    machine.delivered()
    #expect(machine.state == .finished)
    #expect(machine.does(.cancel) == nil)
  }

  @Test("Retriers are not asked again about a request that was refused a retry")
  func refused() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: true) == .exchange(.decide))
    #expect(machine.decided(.deny(.budget)) == .finish)
    #expect(machine.nextHandler(of: 1) == .serialize(0))
    #expect(machine.serialized(0, asksRetriers: true) == .nextHandler)

    var bySerializer = transferring()
    #expect(bySerializer.transferEnded(failed: false) == .finish)
    #expect(bySerializer.nextHandler(of: 2) == .serialize(0))
    #expect(bySerializer.serialized(0, asksRetriers: true) == .exchange(.decide))
    #expect(bySerializer.decided(.deny(.budget)) == .nextHandler)
    #expect(bySerializer.nextHandler(of: 2) == .serialize(1))
    #expect(bySerializer.serialized(1, asksRetriers: true) == .nextHandler)
  }

  @Test("Verbs that change nothing say so")
  func illegalVerbs() {
    var machine = RequestMachine()
    #expect(machine.act(.resume) == true)
    #expect(machine.act(.resume) == false)
    #expect(machine.act(.suspend) == true)
    #expect(machine.act(.suspend) == false)
    #expect(machine.act(.cancel) == true)
    #expect(machine.act(.resume) == false)
    #expect(machine.act(.suspend) == false)
    #expect(machine.act(.cancel) == false)
  }

  @Test("Suspended before it starts, a request is held, and resume starts it")
  func suspendBeforeStart() {
    var machine = RequestMachine()
    #expect(machine.does(.resume) == .exchange(.prepare))
    #expect(machine.does(.suspend) == RequestMachine.Action.none)
    #expect(machine.created() == .hold)
    #expect(machine.does(.resume) == .exchange(.attempt))
    #expect(machine.awaitsSlot)
    let asked = machine.step
    #expect(machine.does(.suspend) == .hold, "who is suspended does not wait for a slot")
    #expect(!machine.awaitsSlot)
    #expect(machine.admitted(asked) == false)
    #expect(machine.does(.resume) == .exchange(.attempt))
    #expect(machine.admitted(asked) == false)
    #expect(machine.admitted() == true)
    #expect(machine.does(.suspend) == .suspendTransfer)
    #expect(machine.does(.resume) == .resumeTransfer)
  }

  @Test("Eager setup waits for resume")
  func eager() {
    var machine = RequestMachine()
    #expect(machine.prepare() == .exchange(.prepare))
    #expect(machine.prepare() == .none)
    #expect(machine.created() == .none)
    #expect(machine.does(.suspend) == .hold)
    #expect(machine.does(.resume) == .exchange(.attempt))
    #expect(machine.act(.suspend) == true)
    #expect(!machine.awaitsSlot, "the loop will hear of it")
    #expect(machine.act(.resume) == true)
    #expect(machine.awaitsSlot)
    #expect(machine.act(.cancel) == true)
    #expect(!machine.awaitsSlot)
  }

  @Test("A request without handlers is finished when requestDidFinish is told")
  func finishing() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: false) == .finish)
    #expect(machine.finishing(hasHandlers: false) == true)
    #expect(machine.state == .finished)
    machine.reopened()
    #expect(machine.state == .resumed)
    #expect(machine.nextHandler(of: 1) == .serialize(0))
    var cancelled = transferring()
    #expect(cancelled.does(.cancel) == .exchange(.cancel))
    #expect(cancelled.transferEnded(failed: true) == .finish)
    #expect(cancelled.finishing(hasHandlers: false) == true)
    #expect(cancelled.state == .cancelled)
  }

  @Test("A granted retry begins anew after its delay")
  func retry() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: true) == .exchange(.decide))
    #expect(machine.decided(.retry(after: 0.5, source: .backoff)) == .exchange(.wait(0.5)))
    #expect(machine.delayElapsed() == .exchange(.prepare))
    #expect(machine.created() == .exchange(.attempt))
  }

  @Test("Answers to a step that is over are ignored")
  func staleAnswers() {
    var machine = RequestMachine()
    #expect(machine.does(.resume) == .exchange(.prepare))
    let creating = machine.step
    #expect(machine.does(.cancel) == .finish)
    #expect(machine.created(creating) == .none)
    #expect(machine.creationFailed(creating) == .none)
    #expect(machine.admitted(creating) == false)
    #expect(machine.decided(.retry(after: 0, source: .backoff)) == RequestMachine.Action.none)
    #expect(machine.delayElapsed() == .none)
  }

  @Test("A cancel that is heard of after the task was made ends the task")
  func cancelAsTheTaskIsMade() {
    var machine = RequestMachine()
    #expect(machine.does(.resume) == .exchange(.prepare))
    let isAccepted = machine.act(.cancel)
    #expect(isAccepted)
    #expect(machine.created() == .none)
    let heard = machine.hear()
    #expect(heard?.action == .exchange(.cancel))
  }

  @Test("Cancelling on the wire waits for the transfer's end")
  func cancelTransfer() {
    var machine = transferring()
    #expect(machine.does(.cancel) == .exchange(.cancel))
    #expect(machine.fail() == .none)
    #expect(machine.transferEnded(failed: true) == .finish)
    #expect(machine.state == .cancelled)
  }

  @Test("A task that is not on the wire is ended like one that is")
  func cancelWaiting() {
    var machine = RequestMachine()
    #expect(machine.does(.resume) == .exchange(.prepare))
    #expect(machine.created() == .exchange(.attempt))
    #expect(machine.does(.cancel) == .exchange(.cancel))
    #expect(machine.transferEnded(failed: true) == .finish)
  }

  @Test("Nothing moves between a cancel and the loop's hearing of it")
  func cancelUnheard() {
    var machine = transferring()
    #expect(machine.act(.cancel) == true)
    #expect(machine.transferEnded(failed: true) == .none)
    #expect(machine.hears() == .exchange(.cancel))
    #expect(machine.transferEnded(failed: true) == .finish)
    #expect(machine.nextHandler(of: 0) == .settle)
  }

  @Test("A cancel during serialization begins it anew")
  func cancelSerializing() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: false) == .finish)
    #expect(machine.nextHandler(of: 2) == .serialize(0))
    let step = machine.step
    #expect(machine.act(.cancel) == true)
    #expect(machine.serialized(0, asksRetriers: false, step) == .none)
    #expect(machine.nextHandler(of: 2) == .none)
    #expect(machine.hears() == .finish)
    #expect(machine.serialized(0, asksRetriers: false, step) == .none)
    #expect(machine.nextHandler(of: 2) == .serialize(0))
  }

  @Test("Verbs are heard in the order in which they changed the state")
  func order() {
    var machine = transferring()
    #expect(machine.act(.suspend) == true)
    #expect(machine.act(.resume) == true)
    #expect(machine.act(.suspend) == true)
    #expect(machine.hear()?.action == .suspendTransfer)
    #expect(machine.hear()?.action == .resumeTransfer)
    #expect(machine.hear()?.action == .suspendTransfer)
    let rest = machine.hear()?.verb
    #expect(rest == nil)
  }

  @Test("Events that were not reported when the request settles are reported then, once")
  func unheard() {
    var machine = transferring()
    #expect(machine.act(.suspend) == true)
    #expect(machine.act(.resume) == true)
    #expect(machine.transferEnded(failed: false) == .finish)
    #expect(machine.nextHandler(of: 0) == .settle)
    #expect(machine.takeUnheard() == [.suspend, .resume])
    #expect(machine.takeUnheard() == [])
    let rest = machine.hear()?.verb
    #expect(rest == nil)
  }

  @Test("A settled request takes no verb, also while it serves a late handler")
  func settled() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: false) == .finish)
    #expect(machine.nextHandler(of: 0) == .settle)
    machine.delivered()
    machine.reopened()
    #expect(machine.state == .resumed)
    for verb in [RequestMachine.Verb.suspend, .resume, .cancel] { #expect(machine.act(verb) == false) }
    #expect(machine.state == .resumed)
    machine.delivered()
    #expect(machine.state == .finished)
  }

  @Test("The deadline tears a transfer down and asks nobody")
  func deadline() {
    var machine = transferring()
    #expect(machine.fail() == .exchange(.cancel))
    #expect(machine.transferEnded(failed: true) == .finish)
    #expect(machine.state == .resumed)
  }

  @Test("A serializer may ask for another attempt")
  func serializerRetry() {
    var machine = transferring()
    #expect(machine.transferEnded(failed: false) == .finish)
    #expect(machine.finishing(hasHandlers: true) == true)
    #expect(machine.nextHandler(of: 1) == .serialize(0))
    #expect(machine.serialized(0, asksRetriers: true) == .exchange(.decide))
    #expect(machine.decided(.retry(after: 0, source: .backoff)) == .exchange(.wait(0)))
    #expect(machine.delayElapsed() == .exchange(.prepare))
    #expect(machine.finishing(hasHandlers: true) == true, "requestDidFinish comes again after such a retry")
  }
}
