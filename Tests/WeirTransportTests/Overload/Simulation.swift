import Testing
import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// What arrives at a gateway, and how its upstream behaves.
struct Workload: Sendable, CustomTestStringConvertible {
  enum Patience: Sendable {
    case seconds(Double)
    case oneOf([Double])
  }

  let name: String
  /// The upstream's models, each from a time on.
  let upstream: [(from: Double, model: UpstreamModel)]
  /// Requests per second, from a time on.
  let load: [(from: Double, perSecond: Double)]
  let seconds: Double
  /// The seconds that are looked at.
  var window: Range<Double>
  /// The good answers per second that the upstream could give.
  let best: Double
  var patience = Patience.seconds(2)
  /// The end of the fault, from which on the recovery is counted.
  var faultEnd: Double?
  /// Shares of the requests by priority; all have 3 where it is empty.
  var priorities: [(priority: Int, share: Double)] = []

  var testDescription: String { name }
}

/// One workload in virtual time. It calls the machine as the shell does.
struct Simulation {
  struct Request {
    enum State { case new, waiting, sent, answered, gaveUp, refused }

    let arrived: Double
    let priority: Int
    var state = State.new
    var ticket: OverloadMachine.Ticket?
    var pass: Circuit.Pass?
    var sent: Double?
    var ended: Double?
    var status = 0
    var reason: OverloadMachine.Refusal?

    var isGood: Bool { state == .answered && status == 200 }
  }

  enum Control {
    /// Slots and a queue.
    case off
    case overload(OverloadSettings)
    case circuit(CircuitBreaker)
  }

  private enum Event {
    case arrival
    case gaveUp(Int)
    case upstream(SimulatedUpstream.Event)
    case model(Int)
    case wake
  }

  static let slots = 512
  static let queueTimeout = 30.0

  let workload: Workload
  private(set) var requests: [Request] = []
  private(set) var machine: OverloadMachine?
  private(set) var circuit: Circuit?
  /// When the control first left the free mode.
  private(set) var controlled: Double?
  private let breaker: CircuitBreaker
  private var events = EventHeap<Event>()
  private var upstream: SimulatedUpstream
  private var random: SeededRandom
  private var now = 0.0
  private var phase = 0
  private var freeSlots = slots
  /// Requests that wait for a slot, where the control is off.
  private var queue: [Int] = []
  private var queueHead = 0
  private var wake: Double?
  private var requestOfTicket: [OverloadMachine.Ticket: Int] = [:]

  init(_ workload: Workload, _ control: Control, seed: UInt64) {
    self.workload = workload
    random = SeededRandom(seed: seed)
    upstream = SimulatedUpstream(workload.upstream[0].model, seed: ~seed)
    var breaker = CircuitBreaker()
    switch control {
    case .off: break
    case .overload(let settings): machine = OverloadMachine(settings, slots: Self.slots, at: Self.time(0))
    case .circuit(let settings):
      circuit = Circuit(at: Self.time(0))
      breaker = settings
    }
    self.breaker = breaker
    for index in workload.upstream.indices.dropFirst() {
      events.push(.model(index), at: workload.upstream[index].from)
    }
    planArrival(after: 0)
  }

  private static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000 + Int64((seconds * 1e9).rounded()))
  }

  mutating func run() {
    while let (time, event) = events.pop() {
      now = time
      switch event {
      case .arrival: arrive()
      case .gaveUp(let request): giveUp(request)
      case .upstream(.answer(let request, let status)): answer(request, status)
      case .upstream(let event):
        upstream.happened(event, at: now)
        planUpstream()
      case .model(let index):
        upstream.become(workload.upstream[index].model, at: now)
        planUpstream()
      case .wake:
        guard wake == time else { continue }
        wake = nil
        machine?.woke(at: Self.time(now))
        performVerdicts()
      }
      if controlled == nil, machine?.limit != nil { controlled = now }
    }
  }

  // MARK: Arrivals

  /// Arrivals are a Poisson process whose rate changes with the phase.
  private mutating func planArrival(after time: Double) {
    var time = time
    while time < workload.seconds {
      while phase + 1 < workload.load.count, workload.load[phase + 1].from <= time { phase += 1 }
      let next = time + random.exponential(mean: 1 / workload.load[phase].perSecond)
      if phase + 1 < workload.load.count, next > workload.load[phase + 1].from {
        time = workload.load[phase + 1].from
      } else {
        return events.push(.arrival, at: next)
      }
    }
  }

  private mutating func arrive() {
    let index = requests.count
    requests.append(Request(arrived: now, priority: priority()))
    switch workload.patience {
    case .seconds(let seconds): events.push(.gaveUp(index), at: now + seconds)
    case .oneOf(let seconds): events.push(.gaveUp(index), at: now + (seconds.randomElement(using: &random) ?? 0))
    }
    planArrival(after: now)
    ask(index)
  }

  private mutating func priority() -> Int {
    if workload.priorities.isEmpty { return 3 }
    var share = Double.random(in: 0..<1, using: &random)
    for (priority, part) in workload.priorities {
      share -= part
      if share <= 0 { return priority }
    }
    return 3
  }

  // MARK: The shell

  private mutating func ask(_ index: Int) {
    let time = Self.time(now)
    if circuit != nil {
      guard case .admitted(let pass) = circuit?.ask(at: time) else { return refuse(index, nil) }
      requests[index].pass = pass
    }
    guard machine != nil else { return askForSlot(index) }
    let arrival = machine?.arrived(priority: requests[index].priority, hasFreeSlot: freeSlots > 0, at: time)
    switch arrival {
    case .letThrough(let ticket)?:
      requests[index].ticket = ticket
      send(index)
    case .waits(let ticket)?:
      requests[index].ticket = ticket
      requests[index].state = .waiting
      requestOfTicket[ticket] = index
    case .refused(let reason)?: refuse(index, reason)
    case nil: break
    }
    performVerdicts()
  }

  private mutating func performVerdicts() {
    guard machine != nil else { return sendQueued() }
    while let verdict = machine?.verdict(hasFreeSlot: freeSlots > 0, at: Self.time(now)) {
      switch verdict {
      case .letThrough(let ticket): if let index = requestOfTicket.removeValue(forKey: ticket) { send(index) }
      case .refused(let ticket, let reason):
        if let index = requestOfTicket.removeValue(forKey: ticket) { refuse(index, reason) }
      }
    }
    guard let next = machine?.nextWake else {
      wake = nil
      return
    }
    let seconds = max(now, Double(next.nanoseconds - Self.time(0).nanoseconds) / 1e9)
    if wake.map({ seconds < $0 }) ?? true {
      wake = seconds
      events.push(.wake, at: seconds)
    }
  }

  private mutating func send(_ index: Int) {
    requests[index].state = .sent
    requests[index].sent = now
    freeSlots -= 1
    upstream.receive(index, at: now)
    planUpstream()
  }

  private mutating func planUpstream() {
    for (seconds, event) in upstream.takePlanned() { events.push(.upstream(event), at: now + seconds) }
  }

  private mutating func refuse(_ index: Int, _ reason: OverloadMachine.Refusal?) {
    requests[index].state = .refused
    requests[index].reason = reason
    requests[index].ended = now
  }

  private mutating func answer(_ index: Int, _ status: Int) {
    guard requests[index].state == .sent else { return }
    requests[index].state = .answered
    requests[index].status = status
    requests[index].ended = now
    freeSlots += 1
    let time = Self.time(now)
    if let ticket = requests[index].ticket { machine?.answered(ticket, status: status, at: time) }
    if let pass = requests[index].pass {
      circuit?.ended(pass, status >= 500 ? .failed : .succeeded, breaker, at: time)
    }
    performVerdicts()
  }

  private mutating func giveUp(_ index: Int) {
    let state = requests[index].state
    guard state == .sent || state == .waiting else { return }
    requests[index].state = .gaveUp
    requests[index].ended = now
    if state == .sent { freeSlots += 1 }
    if let ticket = requests[index].ticket {
      machine?.callerGaveUp(ticket, at: Self.time(now))
      requestOfTicket[ticket] = nil
    }
    if let pass = requests[index].pass { circuit?.ended(pass, .abandoned, breaker, at: Self.time(now)) }
    performVerdicts()
  }

  // MARK: Without a control

  private mutating func askForSlot(_ index: Int) {
    if freeSlots > 0 { return send(index) }
    requests[index].state = .waiting
    queue.append(index)
  }

  private mutating func sendQueued() {
    while freeSlots > 0, queueHead < queue.count {
      let index = queue[queueHead]
      queueHead += 1
      if requests[index].state != .waiting { continue }
      if now - requests[index].arrived > Self.queueTimeout { refuse(index, nil) } else { send(index) }
    }
  }
}
