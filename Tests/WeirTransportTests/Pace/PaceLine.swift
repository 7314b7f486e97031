import Testing
import WeirIO

@testable import WeirTransport

/// A machine, the time, and attempts that have names. It reads scripts of lines such as `0.5 a answers pause=1 → pauses, b goes`:
/// the time, an input, and what becomes of attempts with it. A line with a time alone wakes the machine.
///
/// The machine is woken between the lines when it asks for that, and may decide nothing that no line has.
final class PaceLine {
  var machine: PaceMachine
  private var now = 0.0
  private var tickets: [String: PaceMachine.Ticket] = [:]

  init(_ settings: PaceSettings = PaceSettings()) {
    machine = PaceMachine(settings, at: Self.time(0))
  }

  static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000 + Int64((seconds * 1e9).rounded()))
  }

  var time: MonotonicTime { Self.time(now) }

  /// Runs a script, and expects what it says.
  func run(_ script: String, sourceLocation: SourceLocation = #_sourceLocation) {
    for line in script.split(separator: "\n") where !line.allSatisfy(\.isWhitespace) {
      let sides = line.split(separator: "→", omittingEmptySubsequences: false).map {
        $0.split(separator: " ").map(String.init)
      }
      let expected = sides.count > 1 ? sides[1].joined(separator: " ") : ""
      let (time, input) = (Double(sides[0][0]) ?? .nan, Array(sides[0].dropFirst()))
      #expect(wakes(until: time) == [], "before: \(line)", sourceLocation: sourceLocation)
      now = time
      let outcome = (perform(input).map { [$0] } ?? []) + decisions()
      #expect(outcome.joined(separator: ", ") == expected, "\(line)", sourceLocation: sourceLocation)
      check(sourceLocation)
    }
  }

  // MARK: Inputs

  private func perform(_ words: [String]) -> String? {
    guard let name = words.first else { return nil }
    let options = Options(words)
    if name == "settings" {
      machine.follow(options.settings, at: time)
      return nil
    }
    if name == "retry" { return allowsRetry(options) }
    if name == "promise" {
      machine.promise(true)
      return nil
    }
    switch words.count > 1 ? words[1] : "" {
    case "comes": return comes(name, options)
    case "beside":
      tickets[name] = machine.takeTurn(at: time)
      return tickets[name] == nil ? "no" : "goes"
    case "answers":
      return machine.answered(tickets[name], pause: options["pause"], at: time) ? "pauses" : nil
    case "slot": tickets[name].map { machine.waitsForSlot($0) }
    case "begins": return tickets[name].map { machine.begins($0, at: time) ? "yes" : "no" }
    case "ends": tickets[name].map { machine.ended($0, at: time) }
    case "unsent": tickets[name].map { machine.neverSent($0, at: time) }
    default: return "?"
    }
    return nil
  }

  private func comes(_ name: String, _ options: Options) -> String {
    let arrival = machine.arrived(
      priority: options["priority"].map { Int($0) } ?? 3, timeout: options["timeout"], isRetry: options.has("retry"),
      at: time)
    switch arrival {
    case .goes(let ticket):
      tickets[name] = ticket
      return "goes"
    case .waits(let ticket):
      tickets[name] = ticket
      return "waits"
    case .refused(let refusal): return Self.text(refusal)
    }
  }

  private func allowsRetry(_ options: Options) -> String {
    let isAllowed = machine.allowsRetry(
      after: options["after"] ?? 0, by: options["by"].map(Self.time) ?? .distantFuture, isRepair: options.has("repair"),
      at: time)
    return isAllowed ? "yes" : "no"
  }

  /// What stands behind the verb: words, and numbers with names.
  private struct Options {
    private let words: [String]

    init(_ words: [String]) { self.words = words }

    func has(_ word: String) -> Bool { words.dropFirst().contains(word) }

    subscript(name: String) -> Double? {
      words.first { $0.hasPrefix(name + "=") }.flatMap { Double($0.dropFirst(name.count + 1)) }
    }

    var settings: PaceSettings {
      PaceSettings(exactRate: self["rate"], burst: self["burst"].map { Int($0) } ?? 1, wait: self["wait"] ?? 2)
    }
  }

  // MARK: Answers

  /// The decisions that are due about attempts that wait.
  func decisions() -> [String] {
    var texts: [String] = []
    while let verdict = machine.verdict(at: time) {
      let name = tickets.first { $0.value == verdict.ticket }?.key ?? "?"
      texts.append("\(name) \(verdict.refusal.map(Self.text) ?? "goes")")
    }
    return texts
  }

  /// Wakes the machine when it asks for that before a time. Returns what it has decided.
  private func wakes(until end: Double) -> [String] {
    var texts: [String] = []
    while let wake = machine.nextWake(at: time), wake < Self.time(end) {
      now = wake.seconds(since: Self.time(0))
      let decided = decisions()
      texts += decided.map { "\(now) \($0)" }
      if decided.isEmpty { return texts + ["\(now) no progress"] }
    }
    return texts
  }

  private func check(_ sourceLocation: SourceLocation) {
    let wake = machine.nextWake(at: time)
    #expect((wake == nil) == (machine.attempts.waiting == 0), sourceLocation: sourceLocation)
    #expect(wake.map { $0 > time } ?? true, "it has decided all", sourceLocation: sourceLocation)
  }

  private static func text(_ refusal: PaceMachine.Refusal) -> String {
    let seconds = (refusal.retryAfter * 1000).rounded() / 1000
    return "\(refusal.reason.rawValue) \(seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)")"
  }
}

extension PaceSettings {
  /// Settings by which a turn takes as long as the rate says, without the stretch.
  init(exactRate rate: Double?, burst: Int = 1, obey: Set<PaceSignal> = [.retryAfter], wait: Double = 2) {
    self.init(rate: rate.map { $0 * Double(Self.stretch) / 1000 }, burst: burst, obey: obey, wait: wait)
  }
}
