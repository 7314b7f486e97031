import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// Random calls in legal orders, by callers and an upstream without any sense.
@Suite("Overload: random calls", .timeLimit(.minutes(5))) struct OverloadFuzzTests {
  @Test(arguments: 0..<5) func invariantsHold(part: UInt64) {
    var seen: Set<String> = []
    for seed in part * 40..<part * 40 + 40 {
      var shell = FuzzedShell(seed: seed)
      for _ in 0..<800 { shell.step() }
      shell.end()
      if !shell.failures.isEmpty { Issue.record("seed \(seed): \(shell.failures.prefix(3))") }
      seen.formUnion(shell.seen)
    }
    #expect(seen == ["controlled", "freed", "overloaded", "probe", "overload", "waited", "silent"])
  }
}

/// A shell around a machine that checks what the machine says.
private struct FuzzedShell {
  private enum Place { case waiting, onWire, uploading }

  private(set) var failures: [String] = []
  /// States and reasons that have occurred.
  private(set) var seen: Set<String> = []
  private var machine: OverloadMachine
  private var random: SeededRandom
  private var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
  private let slots: Int
  private var taken = 0
  private var places: [OverloadMachine.Ticket: Place] = [:]
  private var order: [OverloadMachine.Ticket] = []
  /// Attempts that have been admitted, refused or withdrawn.
  private var settled: Set<OverloadMachine.Ticket> = []
  private var bounds: [OverloadMachine.Ticket: MonotonicTime] = [:]
  private var wake: MonotonicTime?
  /// Milliseconds between calls, at most; it changes, so that there are lulls and bursts.
  private var pace = 20.0
  private var isHanging = false

  init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    slots = Int.random(in: 1...64, using: &random)
    let settings = OverloadSettings(
      wait: .random(in: 0.01...5, using: &random), waitOverloaded: .random(in: 0...1, using: &random),
      initial: .random(in: 1...20, using: &random), minimum: .random(in: 1...5, using: &random),
      silence: Bool.random(using: &random) ? 2 : nil, priority: Bool.random(using: &random))
    machine = OverloadMachine(settings, slots: slots, at: now)
  }

  mutating func step() {
    if chance(100) { isHanging.toggle() }
    if chance(50) { pace = [0.1, 2, 20, 200, 5_000].randomElement(using: &random) ?? 20 }
    pass(.random(in: 0...pace / 1_000, using: &random))
    switch Int.random(in: 0..<10, using: &random) {
    case 0...3: arrive()
    // The callers of an upstream that hangs leave it in the order in which they came.
    case 4...6:
      if let ticket = isHanging ? first(.onWire) : pick(.onWire) { isHanging ? giveUp(ticket) : answer(ticket) }
    case 7: if let ticket = pick(.onWire) ?? pick(.uploading) ?? pick(.waiting) { giveUp(ticket) }
    case 8: if let ticket = pick(.waiting) { giveUp(ticket) }
    default: upload()
    }
    check()
  }

  /// All that still wait must hear of it, if the shell only wakes the machine.
  mutating func end() {
    for ticket in order where places[ticket] == .onWire || places[ticket] == .uploading { answer(ticket) }
    var wakes = 0
    while places.values.contains(.waiting), wakes < 10_000 {
      wakes += 1
      guard let wake else { return fail("a waiter without a wake") }
      pass(max(0, wake.seconds(since: now)) + 1e-9)
      if let ticket = pick(.onWire) { answer(ticket) }
    }
    if wakes == 10_000 { fail("waiters that never hear") }
    if machine.inFlight.onWire != places.values.filter({ $0 != .waiting }).count { fail("attempts left behind") }
    pass(100)
    machine.woke(at: now)
    check()
    if machine.limit != nil { fail("control without calls") }
  }

  // MARK: Calls

  private mutating func arrive() {
    let wasFree = machine.limit == nil && !machine.silence.isSilent
    let timeout = chance(5) ? Double.random(in: -1...3, using: &random) : nil
    let arrival = machine.arrived(
      priority: .random(in: -1...9, using: &random), timeout: timeout, hasFreeSlot: taken < slots, at: now)
    switch arrival {
    case .letThrough(let ticket):
      if places[ticket] != nil { fail("a ticket given twice") }
      admit(ticket)
    case .waits(let ticket):
      if places[ticket] != nil { fail("a ticket given twice") }
      places[ticket] = .waiting
      order.append(ticket)
      bounds[ticket] = now.advanced(bySeconds: 60)
    case .refused(let reason):
      seen.insert("\(reason)")
      let isFree = machine.limit == nil && !machine.silence.isSilent
      if wasFree, isFree { fail("refused in the free mode: \(reason)") }
    }
    perform()
  }

  private mutating func answer(_ ticket: OverloadMachine.Ticket) {
    leave(ticket)
    switch Int.random(in: 0..<8, using: &random) {
    case 0: machine.ended(ticket, .failed, at: now)
    case 1: machine.ended(ticket, .timedOut, at: now)
    case 2: machine.ended(ticket, .withdrawn, at: now)
    default: machine.answered(ticket, status: [200, 404, 429, 503].randomElement(using: &random) ?? 200, at: now)
    }
    perform()
  }

  private mutating func giveUp(_ ticket: OverloadMachine.Ticket) {
    leave(ticket)
    if chance(4) { machine.ended(ticket, .withdrawn, at: now) } else { machine.ended(ticket, .callerGaveUp, at: now) }
    // A second call about the same attempt changes nothing.
    let counted = machine.inFlight.counted
    machine.ended(ticket, .callerGaveUp, at: now)
    if machine.inFlight.counted != counted { fail("an attempt ended twice") }
    perform()
  }

  private mutating func upload() {
    if let ticket = pick(.uploading) {
      places[ticket] = .onWire
      machine.hasUploaded(ticket, at: now)
    } else if let ticket = pick(.onWire) {
      places[ticket] = .uploading
      machine.uploads(ticket)
    }
    perform()
  }

  // MARK: The shell

  /// Time passes, and the machine is woken as it wanted; sometimes a thread brings an older time.
  private mutating func pass(_ seconds: Double) {
    let target = now.advanced(bySeconds: seconds)
    while let wake, wake <= target {
      now = max(now, wake)
      self.wake = nil
      machine.woke(at: now)
      perform()
    }
    now = target
    if chance(10) { machine.woke(at: MonotonicTime(nanoseconds: now.nanoseconds - 5_000_000)) }
    perform()
  }

  private mutating func perform() {
    var count = 0
    while let verdict = machine.verdict(hasFreeSlot: taken < slots, at: now) {
      count += 1
      if count > 100_000 { return fail("verdicts without an end") }
      let ticket = verdict.ticket
      if places[ticket] != .waiting { fail("a verdict without waiting") }
      places[ticket] = nil
      order.removeAll { $0 == ticket }
      if let reason = verdict.refusal {
        seen.insert("\(reason)")
        if !settled.insert(ticket).inserted { fail("settled twice") }
      } else {
        admit(ticket)
      }
    }
    wake = machine.nextWake
    if let wake, wake < now, places.values.contains(.waiting) {
      // A thread's older time may be before the wake that is due at once.
      if now.seconds(since: wake) > 0.006 { fail("a wake in the past") }
    }
  }

  private mutating func admit(_ ticket: OverloadMachine.Ticket) {
    if !settled.insert(ticket).inserted { fail("settled twice") }
    if taken >= slots { fail("let through without a slot") }
    taken += 1
    places[ticket] = .onWire
    order.append(ticket)
  }

  private mutating func leave(_ ticket: OverloadMachine.Ticket) {
    if places[ticket] != .waiting { taken -= 1 } else if !settled.insert(ticket).inserted { fail("settled twice") }
    places[ticket] = nil
    order.removeAll { $0 == ticket }
  }

  private func first(_ place: Place) -> OverloadMachine.Ticket? { order.first { places[$0] == place } }

  private mutating func pick(_ place: Place) -> OverloadMachine.Ticket? {
    order.filter { places[$0] == place }.randomElement(using: &random)
  }

  private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &random) == 0 }

  private mutating func fail(_ text: String) { failures.append(text) }

  // MARK: Invariants

  private mutating func check() {
    let inFlight = machine.inFlight
    let waiting = places.values.filter { $0 == .waiting }.count
    if inFlight.counted < 0 { fail("a negative count") }
    if inFlight.waiting != waiting { fail("\(inFlight.waiting) waiters of \(waiting)") }
    if inFlight.onWire != places.count - waiting { fail("\(inFlight.onWire) on the wire of \(places.count - waiting)") }
    if machine.overloadedSince != nil { seen.insert("overloaded") }
    if machine.limit == nil, seen.contains("controlled") { seen.insert("freed") }
    if let limit = machine.limit {
      seen.insert(limit.probe == nil ? "controlled" : "probe")
      let least = min(machine.settings.boundedMinimum, slots)
      if !(1...slots).contains(limit.floor) { fail("a limit of \(limit.floor)") }
      if limit.probe == nil, limit.floor < least { fail("a limit of \(limit.floor) below \(least)") }
    }
    if waiting > 0, machine.nextWake == nil { fail("a lost waiter") }
    if let latency = machine.latency {
      for seconds in [latency.average, latency.baseline, latency.least] where !(seconds >= 0 && seconds < 1e6) {
        fail("\(seconds) s")
      }
    }
  }
}
