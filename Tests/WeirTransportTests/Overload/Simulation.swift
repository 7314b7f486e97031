import WeirIO
import WeirTestSupport

@testable import WeirTransport

/// One workload in virtual time. It calls the machine as the shell does.
struct Simulation {
  struct Request {
    enum State { case new, waiting, sent, answered, gaveUp, refused }

    let arrived: Double
    let priority: Int
    let gateway: Int
    /// When its caller gives up.
    let deadline: Double
    let isUpload: Bool
    var path: Workload.Path?
    var retries = 0
    var hedge: OverloadMachine.Ticket?
    var state = State.new
    var ticket: OverloadMachine.Ticket?
    var pass: Circuit.Pass?
    var sent: Double?
    var ended: Double?
    var status = 0
    var reason: ShedReason?

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
    case retry(of: Int)
    case uploaded(Int)
    case hedge(Int)
    case upstream(SimulatedUpstream.Event)
    case model(Int)
    case wake(gateway: Int)
    case report
  }

  static let slots = 512
  static let queueTimeout = 30.0
  static let uploadSeconds = 2.0
  /// What is added to a request's number for its hedge.
  private static let hedge = 1_000_000_000

  /// What one gateway holds.
  private struct Gateway {
    var machine: OverloadMachine?
    var freeSlots = slots
    var wake: Double?
    /// Requests that wait.
    var requests: [OverloadMachine.Ticket: Int] = [:]

    mutating func verdict(at now: MonotonicTime) -> (OverloadMachine.Verdict, request: Int)? {
      while let verdict = machine?.verdict(hasFreeSlot: freeSlots > 0, at: now) {
        if let index = requests.removeValue(forKey: verdict.ticket) { return (verdict, index) }
      }
      return nil
    }
  }

  let workload: Workload
  private(set) var requests: [Request] = []
  private var gateways: [Gateway]
  private(set) var circuit: Circuit?
  /// When the control first left the free mode.
  private(set) var controlled: Double?
  private let breaker: CircuitBreaker
  private var events = EventHeap<Event>()
  private var upstream: SimulatedUpstream
  private var random: SeededRandom
  private var now = 0.0
  private var phase = 0
  /// Requests that wait for a slot, where the control is off.
  private var queue: [Int] = []
  private var queueHead = 0

  init(_ workload: Workload, _ control: Control, seed: UInt64) {
    self.workload = workload
    random = SeededRandom(seed: seed)
    upstream = SimulatedUpstream(workload.upstream[0].model, seed: ~seed)
    var breaker = CircuitBreaker()
    gateways = [Gateway](repeating: Gateway(), count: workload.gateways)
    switch control {
    case .off: break
    case .overload(let settings):
      for index in gateways.indices {
        gateways[index].machine = OverloadMachine(settings, slots: Self.slots, at: Self.time(0))
      }
    case .circuit(let settings):
      circuit = Circuit(at: Self.time(0))
      breaker = settings
    }
    self.breaker = breaker
    for index in workload.upstream.indices.dropFirst() {
      events.push(.model(index), at: workload.upstream[index].from)
    }
    if machine != nil { events.push(.report, at: 1) }
    planArrival(after: 0)
  }

  /// The first gateway's machine.
  var machine: OverloadMachine? { gateways[0].machine }

  private static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: 1_000_000_000_000 + Int64((seconds * 1e9).rounded()))
  }

  mutating func run() {
    while let (time, event) = events.pop() {
      now = time
      switch event {
      case .arrival: arrive()
      case .gaveUp(let request): giveUp(request)
      case .retry(let request): retry(request)
      case .uploaded(let request): uploaded(request)
      case .hedge(let request): hedge(request)
      case .upstream(.answer(let request, let status)): answer(request, status)
      case .upstream(let event):
        upstream.happened(event, at: now)
        planUpstream()
      case .model(let index):
        upstream.become(workload.upstream[index].model, at: now)
        planUpstream()
      case .wake(let gateway):
        guard gateways[gateway].wake == time else { continue }
        gateways[gateway].wake = nil
        gateways[gateway].machine?.woke(at: Self.time(now))
        performVerdicts(gateway)
      case .report: report()
      }
      if controlled == nil, gateways.contains(where: { $0.machine?.limit != nil }) { controlled = now }
    }
  }

  /// The shell reports once a second.
  private mutating func report() {
    for gateway in gateways.indices {
      gateways[gateway].machine?.woke(at: Self.time(now))
      performVerdicts(gateway)
    }
    if now < workload.seconds { events.push(.report, at: now + 1) }
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
    let (priority, path) = (priority(), path())
    var callerTimeout: Double
    switch workload.callerTimeout {
    case .seconds(let seconds): callerTimeout = seconds
    case .oneOf(let seconds): callerTimeout = seconds.randomElement(using: &random) ?? 0
    }
    let isUpload = workload.uploads > 0 && .random(in: 0..<1, using: &random) < workload.uploads
    if isUpload { callerTimeout += Self.uploadSeconds }
    if let path { callerTimeout = path.callerTimeout }
    let gateway = workload.gateways == 1 ? 0 : Int.random(in: 0..<workload.gateways, using: &random)
    begin(
      Request(
        arrived: now, priority: priority, gateway: gateway, deadline: now + callerTimeout, isUpload: isUpload,
        path: path))
  }

  private mutating func begin(_ request: Request) {
    let index = requests.count
    requests.append(request)
    events.push(.gaveUp(index), at: request.deadline)
    if request.retries == 0 { planArrival(after: now) }
    ask(index)
  }

  /// A caller whose request was refused or has failed asks again.
  private mutating func planRetry(of index: Int) {
    let request = requests[index]
    guard request.retries < workload.retries else { return }
    let time = now + .random(in: 0.1...0.5, using: &random)
    if time < request.deadline { events.push(.retry(of: index), at: time) }
  }

  private mutating func retry(_ index: Int) {
    let first = requests[index]
    var request = Request(
      arrived: now, priority: first.priority, gateway: first.gateway, deadline: first.deadline,
      isUpload: first.isUpload, path: first.path)
    request.retries = first.retries + 1
    begin(request)
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

  private mutating func path() -> Workload.Path? {
    let paths = workload.paths.filter { $0.during.contains(now) }
    if paths.isEmpty { return nil }
    var share = Double.random(in: 0..<1, using: &random)
    return paths.first {
      share -= $0.share
      return share <= 0
    }
  }

  // MARK: The shell

  private mutating func ask(_ index: Int) {
    let time = Self.time(now)
    if circuit != nil {
      guard let pass = circuit?.ask(at: time) else { return refuse(index, nil) }
      requests[index].pass = pass
    }
    let (gateway, request) = (requests[index].gateway, requests[index])
    guard machine != nil else { return askForSlot(index) }
    let hasFreeSlot = gateways[gateway].freeSlots > 0
    let arrival = gateways[gateway].machine?.arrived(
      priority: request.priority, timeout: workload.announcesTimeout ? request.deadline - now : nil,
      hasFreeSlot: hasFreeSlot, at: time)
    switch arrival {
    case .letThrough(let ticket)?:
      requests[index].ticket = ticket
      send(index)
    case .waits(let ticket)?:
      requests[index].ticket = ticket
      requests[index].state = .waiting
      gateways[gateway].requests[ticket] = index
    case .refused(let reason)?: refuse(index, reason)
    case nil: break
    }
    performVerdicts(gateway)
  }

  private mutating func performVerdicts(_ gateway: Int) {
    guard machine != nil else { return sendQueued() }
    while let (verdict, index) = gateways[gateway].verdict(at: Self.time(now)) {
      if let reason = verdict.refusal { refuse(index, reason) } else { send(index) }
    }
    guard let next = gateways[gateway].machine?.nextWake else {
      gateways[gateway].wake = nil
      return
    }
    let seconds = max(now, Double(next.nanoseconds - Self.time(0).nanoseconds) / 1e9)
    if gateways[gateway].wake.map({ seconds < $0 }) ?? true {
      gateways[gateway].wake = seconds
      events.push(.wake(gateway: gateway), at: seconds)
    }
  }

  private mutating func send(_ index: Int) {
    let request = requests[index]
    requests[index].state = .sent
    requests[index].sent = now
    gateways[request.gateway].freeSlots -= 1
    if let seconds = workload.hedgeAfter { events.push(.hedge(index), at: now + seconds) }
    if request.isUpload {
      if let ticket = request.ticket { gateways[request.gateway].machine?.uploads(ticket) }
      return events.push(.uploaded(index), at: now + Self.uploadSeconds)
    }
    upstream.receive(index, taking: request.path?.seconds, at: now)
    planUpstream()
  }

  private mutating func uploaded(_ index: Int) {
    let request = requests[index]
    guard request.state == .sent else { return }
    if let ticket = request.ticket {
      gateways[request.gateway].machine?.hasUploaded(ticket, at: Self.time(now))
      performVerdicts(request.gateway)
    }
    upstream.receive(index, at: now)
    planUpstream()
  }

  private mutating func hedge(_ index: Int) {
    let request = requests[index]
    let gateway = gateways[request.gateway]
    guard request.state == .sent, gateway.freeSlots > 0, gateway.machine?.allowsHedge ?? true else { return }
    gateways[request.gateway].freeSlots -= 1
    requests[index].hedge = gateways[request.gateway].machine?.joined(at: Self.time(now))
    upstream.receive(Self.hedge + index, at: now)
    planUpstream()
  }

  private mutating func planUpstream() {
    for (seconds, event) in upstream.takePlanned() { events.push(.upstream(event), at: now + seconds) }
  }

  private mutating func refuse(_ index: Int, _ reason: ShedReason?) {
    requests[index].state = .refused
    requests[index].reason = reason
    requests[index].ended = now
    planRetry(of: index)
  }

  private mutating func answer(_ attempt: Int, _ status: Int) {
    let index = attempt % Self.hedge
    guard requests[index].state == .sent else { return }
    requests[index].state = .answered
    requests[index].status = status
    requests[index].ended = now
    let (gateway, time) = (requests[index].gateway, Self.time(now))
    gateways[gateway].freeSlots += 1
    var tickets = [requests[index].ticket, requests[index].hedge].compactMap(\.self)
    if attempt != index { tickets.reverse() }
    for (number, ticket) in tickets.enumerated() {
      if number == 0 {
        gateways[gateway].machine?.answered(ticket, status: status, at: time)
      } else {
        gateways[gateway].freeSlots += 1
        gateways[gateway].machine?.ended(ticket, .withdrawn, at: time)
      }
    }
    if let pass = requests[index].pass {
      circuit?.ended(pass, status >= 500 ? .failed : .succeeded, breaker, at: time)
    }
    if status >= 429 { planRetry(of: index) }
    performVerdicts(gateway)
  }

  private mutating func giveUp(_ index: Int) {
    let state = requests[index].state
    guard state == .sent || state == .waiting else { return }
    requests[index].state = .gaveUp
    requests[index].ended = now
    let gateway = requests[index].gateway
    if state == .sent { gateways[gateway].freeSlots += 1 }
    if let ticket = requests[index].ticket {
      if requests[index].path?.isTimeout ?? false {
        gateways[gateway].machine?.ended(ticket, .timedOut, at: Self.time(now))
      } else {
        gateways[gateway].machine?.ended(ticket, .callerGaveUp, at: Self.time(now))
      }
      gateways[gateway].requests[ticket] = nil
    }
    if let ticket = requests[index].hedge {
      gateways[gateway].freeSlots += 1
      gateways[gateway].machine?.ended(ticket, .withdrawn, at: Self.time(now))
    }
    if let pass = requests[index].pass { circuit?.ended(pass, .abandoned, breaker, at: Self.time(now)) }
    performVerdicts(gateway)
  }

  // MARK: Without a control

  private mutating func askForSlot(_ index: Int) {
    if gateways[0].freeSlots > 0 { return send(index) }
    requests[index].state = .waiting
    queue.append(index)
  }

  private mutating func sendQueued() {
    while gateways[0].freeSlots > 0, queueHead < queue.count {
      let index = queue[queueHead]
      queueHead += 1
      if requests[index].state != .waiting { continue }
      if now - requests[index].arrived > Self.queueTimeout { refuse(index, nil) } else { send(index) }
    }
  }
}
