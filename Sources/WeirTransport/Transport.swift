package import WeirCurl
package import WeirIO

/// How many attempts a destination may have, and how long an attempt may wait for a slot.
package struct TransportLimits: Sendable {
  /// Attempts on the wire per destination.
  package var slots: Int
  /// Attempts that may wait for a slot of one destination.
  package var waiting: Int
  /// The longest wait for a slot, in seconds.
  package var admissionTimeout: Double
  /// Responses that have given up their slots, as they wait for receivers, per destination.
  package var parked: Int

  /// The usual number of parked responses.
  package static let usualParked = 256

  package init(slots: Int, waiting: Int, admissionTimeout: Double, parked: Int = usualParked) {
    self.slots = slots
    self.waiting = waiting
    self.admissionTimeout = admissionTimeout
    self.parked = parked
  }
}

/// The attempts of one event loop: their engine, their destinations, and the observer of those. Confined to the loop.
///
/// Exchanges lie above it: a request of a session, or a request that the gateway forwards. An exchange runs one
/// ``Attempt`` after another, or one beside another, and tells the observer how it goes.
package final class Transport {
  package let loop: EventLoop
  package let options: TransportOptions
  package let limits: TransportLimits
  private let table: DestinationTable
  private let interests: TransportInterests
  private var choices: [Destination: EndpointChoice] = [:]
  private(set) var observer: (any DestinationObserver)?
  private var engine: Engines?
  private var isClosed = false
  private lazy var reports = DestinationReports(loop: loop) { [weak self] in self?.tell($0, $1) }
  /// The destinations at which attempts wait for their turn or for load control, or have waited.
  private var alarms: [ObjectIdentifier: DestinationAlarm] = [:]

  /// - Parameter table: The destinations, which several transports may share.
  package init(
    loop: EventLoop, options: TransportOptions, limits: TransportLimits, table: DestinationTable,
    observer: (any DestinationObserver)?
  ) {
    self.loop = loop
    self.options = options
    self.limits = limits
    self.table = table
    self.observer = observer
    interests = observer?.transportInterests ?? []
  }

  /// The state of a destination.
  package func state(of destination: Destination) -> DestinationState {
    table.state(for: destination, limits: limits)
  }

  /// Puts a hop on the wire. The engine is made on first use.
  func start(
    _ spec: consuming TransferSpec, headers: PreparedHeaders, delegate: any TransferDelegate
  ) throws(TransferError) -> any TransferHandle {
    if isClosed { throw TransferError(.engineClosed, message: "the transport is closed") }
    let engine = if let engine { engine } else { try makeEngine() }
    return engine.start(spec, headers: headers, delegate: delegate)
  }

  /// Whether a proxy is on the way of a request.
  func isProxied(_ spec: TransferSpec) -> Bool {
    if case .none = spec.rules?.proxy ?? options.proxy { return false }
    let engine = engine ?? (try? makeEngine())
    return engine?.libcurl.proxy(of: spec) != nil
  }

  private func makeEngine() throws(TransferError) -> Engines {
    let engine = try Engines(
      loop: loop, options: options, observer: interests.contains(.connections) ? self : nil)
    self.engine = engine
    return engine
  }

  // MARK: Endpoints

  /// The sets of endpoints by the destinations that they stand for; others are reached by their own host and port.
  package func use(_ sets: [Destination: EndpointSet]) {
    let before = choices
    choices = sets.mapValues { set in before.values.first { $0.set === set } ?? choice(among: set) }
  }

  /// Makes a choice among a set's endpoints for this transport's attempts.
  package func choice(among set: EndpointSet) -> EndpointChoice {
    EndpointChoice(set, on: loop) { [weak self] in self?.closeIdleConnections(to: $0) }
  }

  /// Whether any destination has endpoints of its own.
  package var usesEndpoints: Bool { !choices.isEmpty }

  /// The choice among a destination's endpoints; nil if it has none of its own.
  func endpoints(of destination: Destination?) -> EndpointChoice? {
    if choices.isEmpty { return nil }
    return destination.flatMap { choices[$0] }
  }

  /// Closes the idle connections to endpoints that are gone, as far as they are not libcurl's, which close by their age.
  package func closeIdleConnections(to endpoints: [TransferEndpoint]) {
    for endpoint in endpoints { engine?.closeIdleConnections(to: endpoint) }
  }

  /// Closes the idle connections to origins to which no requests will go, such as `https://host:8443/`, as far as they are
  /// not libcurl's.
  package func closeIdleConnections(toOrigins names: Set<String>) { engine?.closeIdleConnections(toOrigins: names) }

  /// Hands on so many bytes of a response's body at a time from now on, at most.
  package func limitPieces(to bytes: Int) { engine?.limitPieces(to: bytes) }

  /// Ends all transfers and closes all connections.
  package func close() {
    guard !isClosed else { return }
    isClosed = true
    engine?.close()
    engine = nil
    reports.end()
    for alarm in alarms.values { alarm.cancel() }
    alarms = [:]
    // After the engine, which reports its last connections at the end of this turn.
    loop.atEndOfTurn { [self] in observer = nil }
  }

  // MARK: Destinations

  /// Whether the observer wants to hear of retry budgets, circuits and load control.
  var watchesDestinations: Bool { interests.contains(.resilience) }

  /// Reports on the destination from now on.
  func watch(_ destination: DestinationState, budget: RetryBudget?) { reports.watch(destination, budget: budget) }

  /// Wakes the destination's pace and load control at this time, as attempts wait for them.
  func wake(_ destination: DestinationState, at time: MonotonicTime) {
    let identity = ObjectIdentifier(destination)
    if let alarm = alarms[identity] { return alarm.set(at: time) }
    alarms = alarms.filter { $0.value.isArmed }
    let alarm = DestinationAlarm(destination, loop: loop) { [weak self] in self?.observer?.destination($0, entered: $1)
    }
    alarms[identity] = alarm
    alarm.set(at: time)
  }

  // MARK: Reports to the observer

  private func tell(_ destination: Destination, _ reports: DestinationState.Reports) {
    guard watchesDestinations else { return }
    if let retries = reports.availableRetries { observer?.destination(destination, availableRetries: retries) }
    if let state = reports.entered { observer?.destination(destination, entered: state) }
    if let pause = reports.pause { observer?.destination(destination, pause: pause) }
    if let overload = reports.overload { observer?.destination(destination, overload: overload) }
  }

  /// An attempt has finished with its connection.
  func connectionUsed(isReused: Bool, isIdle: Bool, _ destination: Destination?) {
    guard interests.contains(.connectionUse), isReused || isIdle, let destination else { return }
    if isReused { observer?.connection(ConnectionEvent(kind: .reused, destination: destination)) }
    if isIdle { observer?.connection(ConnectionEvent(kind: .idle, destination: destination)) }
  }
}

extension Transport: TransferEngineObserver {
  package func engineDidOpenConnection(tag: AnyObject?) { connection(.opened, tag: tag) }

  package func engineDidCloseConnection(tag: AnyObject?) { connection(.closed, tag: tag) }

  private func connection(_ kind: ConnectionEvent.Kind, tag: AnyObject?) {
    let endpoint = tag as? EndpointConnections
    if kind == .opened { endpoint?.opened() } else { endpoint?.closed() }
    guard let state = (endpoint?.owner ?? tag) as? DestinationState else { return }
    observer?.connection(ConnectionEvent(kind: kind, destination: state.destination))
  }
}
