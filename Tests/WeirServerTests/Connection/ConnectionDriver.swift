import Testing
import WeirIO
import WeirTestSupport

@testable import WeirServer

/// Does what the shell would, and writes down the actions.
struct ConnectionDriver {
  var machine: ConnectionMachine
  var now = MonotonicTime(nanoseconds: 1_000_000_000)
  private var held: [UInt8] = []

  init(_ limits: ServerLimits = ServerLimits()) {
    machine = ConnectionMachine(limits: limits, now: now)
  }

  mutating func receive(_ text: String) -> String {
    held += Array(text.utf8)
    return proceed()
  }

  mutating func attach() -> String {
    _ = machine.activateReader(hasInput: !held.isEmpty, now: now)
    return proceed()
  }

  /// A whole response, as the shell sends it: buffered, then flushed when the machine says so.
  mutating func respond(flushed: Bool = true) -> String {
    guard machine.response == .pending || machine.response == .begun else { return proceed() }
    if machine.response == .pending { _ = machine.beginResponse(delimitedByClose: false, now: now) }
    if flushed { machine.noteOutput(.unsent, now: now) }
    machine.endResponse(now: now)
    return proceed()
  }

  mutating func end() -> String {
    let tells = machine.noteInputEnd()
    return (tells ? ["tell", proceed()] : [proceed()]).joined(separator: " ")
  }

  mutating func wait(_ seconds: Double) -> String? {
    now = now.advanced(bySeconds: seconds)
    let time = now
    guard let action = machine.timerFired(now: time) else { return nil }
    let name = describe(action)
    return machine.phase == .closed ? name : "\(name) \(proceed())"
  }

  mutating func proceed() -> String {
    var actions: [String] = []
    var position = 0
    for _ in 0..<1000 {
      let (input, time) = (held, now)
      let action = machine.next(input.span, at: &position, now: time)
      actions.append(describe(action))
      switch action {
      case .flush: machine.noteOutput(.empty, now: now)
      case .cut, .close, .reset, .read, .wait, .pause:
        held.removeFirst(position)
        if machine.output == .unsent { machine.noteOutput(.empty, now: now) }  // the shell sends before it rests
        return actions.joined(separator: " ")
      default: break
      }
    }
    Issue.record("the machine never rests: \(actions.suffix(4))")
    return ""
  }

  private func describe(_ action: ConnectionMachine.Action) -> String {
    switch action {
    case .begin: "begin"
    case .deliver(let range): "deliver(\(range.count))"
    case .refuse(let refusal): "refuse(\(refusal.status))"
    default: "\(action)"
    }
  }
}
