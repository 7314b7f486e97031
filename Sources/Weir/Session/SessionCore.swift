import Synchronization
import WeirCurl
import WeirHTTP
import WeirIO

/// The part of a session that lives on its event loop: the active requests, their transport, the destinations by URL.
final class SessionCore {
  let loop: EventLoop
  let configuration: SessionConfiguration
  let monitors: CompositeEventMonitor
  @exclusivity(unchecked) private var trustRules: TrustRules?
  /// The trust in servers by one name; nil for that of the transport.
  let namedTrust: TransferTrust?
  let controls: DestinationControls
  let cookies: CookieHandling?
  private let table: DestinationTable
  @exclusivity(unchecked) private var active = ActivePipelines()
  /// The destinations by scheme and authority, spelled as in URLs, so that a lookup needs no parsing.
  private var destinations: [String: DestinationState] = [:]
  private var lastDestination: (origin: String, state: DestinationState)?
  private static let cachedDestinations = 256
  /// Made when it is first used; closed at the session's end.
  private(set) lazy var transport = makeTransport()
  private var defaultHeaders: PreparedHeaders?
  private var types = InterceptorTypes()
  private var sessionAdapters: [NamedAdapter]?
  private let groups: [Destination: EndpointGroup]
  private let defect: WeirError?
  private var ending: Ending?
  /// Ends the session when its last requests have had their time.
  private let graceTimer = LoopTimer()
  private var awaitingEnd: [() -> Void] = []
  private var taskCount = 0
  @exclusivity(unchecked) private var traceIDs = TraceIDs()
  weak var session: Session?

  /// The reason why no further request is taken.
  private enum Ending {
    case draining
    case ended(WeirError)
  }

  init(
    loop: EventLoop, defect: WeirError?, configuration: SessionConfiguration, trustRules: TrustRules? = nil,
    monitors: CompositeEventMonitor, table: DestinationTable
  ) {
    self.loop = loop
    self.defect = defect
    self.configuration = configuration
    self.trustRules = trustRules
    namedTrust = configuration.tls.serverName.map { TransferTrust(TLSOptions(configuration.tls), serverName: $0) }
    self.monitors = monitors
    self.table = table
    controls = DestinationControls(configuration)
    groups = Dictionary(configuration.endpoints.map { ($0.origin, $0) }, uniquingKeysWith: { $1 })
    cookies = configuration.httpCookieStorage.map {
      CookieHandling(
        storage: $0, areSent: configuration.httpShouldSetCookies, policy: configuration.httpCookieAcceptPolicy)
    }
  }

  // MARK: Requests

  func pipeline(of request: Request) -> RequestPipeline? {
    active[request.fields.withLock { $0.place }]
  }

  /// Passes the caller's next verb on to the request's pipeline.
  func hear(_ request: Request) {
    let (heard, isActive, place) = request.fields.withLock { ($0.machine.hear(), $0.machine.isActive, $0.place) }
    if let heard { shell(of: request, at: place, isActive).perform(heard.verb, heard.action) }
  }

  /// Sets a request up before it is resumed.
  func prepare(_ request: Request) {
    let (action, place) = request.fields.withLock { ($0.machine.prepare(), $0.place) }
    if case .none = action { return }
    shell(of: request, at: place, true).perform(action)
  }

  /// The request's pipeline, kept from the beginning of setup until the request settles.
  private func shell(of request: Request, at place: Int?, _ isActive: Bool) -> RequestPipeline {
    if let pipeline = active[place] { return pipeline }
    let pipeline = RequestPipeline(request: request, core: self)
    if isActive {
      let place = active.add(pipeline)
      request.fields.withLock { $0.place = place }
    }
    return pipeline
  }

  func remove(_ request: Request) {
    let place = request.fields.withLock { fields in
      defer { fields.place = nil }
      return fields.place
    }
    let pipeline = active.remove(at: place)
    // Released last: the pipeline may hold objects of the caller's, whose `deinit` may call back into this core.
    withExtendedLifetime(pipeline) {}
    if case .draining = ending, active.isEmpty { loop.atEndOfTurn { [self] in endIfDrained() } }
  }

  /// Ends the session once it is drained. Not called in the middle of the last request's step.
  private func endIfDrained() {
    if case .draining = ending, active.isEmpty { end(with: .sessionInvalidated(error: nil), event: nil) }
  }

  var activeRequests: Set<Request> { Set(active.all.map(\.request)) }

  /// The error of requests that come too late; nil while the session takes requests.
  var refusal: WeirError? {
    switch ending {
    case nil: defect
    case .ended(.sessionDeinitialized): .sessionDeinitialized
    case .draining, .ended: .sessionInvalidated(error: nil)
    }
  }

  // MARK: Destinations

  /// The state of a request's destination; nil if the URL has none.
  func destination(of hop: HopRequest) -> DestinationState? {
    if let last = lastDestination, last.origin.utf8.count == hop.originLength, hop.begins(with: last.origin) {
      return last.state
    }
    guard let url = hop.url else { return nil }
    // A URL with user info is not cached, so that no password is kept.
    guard let origin = hop.origin, !origin.contains("@") else { return destination(of: url) }
    if let known = destinations[origin] {
      lastDestination = (origin, known)
      return known
    }
    guard let state = destination(of: url) else { return nil }
    // The dictionary is only a cache: a request under way retains its destination's state itself.
    if destinations.count >= Self.cachedDestinations { destinations.removeAll() }
    destinations[origin] = state
    return state
  }

  private func destination(of url: URL) -> DestinationState? {
    Destination(url: url).map { transport.state(of: $0) }
  }

  private func makeTransport() -> Transport {
    let limits = TransportLimits(
      slots: configuration.httpMaximumConnectionsPerHost, waiting: configuration.maximumPendingRequestsPerHost,
      admissionTimeout: configuration.admissionTimeout)
    let transport = Transport(
      loop: loop, options: TransportOptions(configuration), limits: limits, table: table,
      observer: monitors.isEmpty ? nil : self)
    transport.use(groups.mapValues(\.set))
    return transport
  }

  /// The key by which an endpoint of the destination is chosen for the request; nil if none is needed.
  func balanceKey(of hop: HopRequest, at destination: Destination?) -> UInt64? {
    destination.flatMap { groups[$0] }?.key(of: hop)
  }

  /// The proof of identity that a request's host has to give; nil: the session's settings decide.
  func trust(for hop: HopRequest) throws(WeirError) -> HostTrust? {
    guard trustRules != nil, hop.isSecure else { return nil }
    // The host as libcurl reads it. libcurl connects to that host and compares it with the certificate, so that another
    // spelling of the host is not another host.
    let host = CurlURL.host(of: hop.text) ?? hop.url?.host ?? ""
    return try trustRules?.trust(ofHost: host)
  }

  /// The session's headers in wire form, for requests without headers of their own.
  func preparedDefaultHeaders() -> PreparedHeaders {
    if let defaultHeaders { return defaultHeaders }
    let headers = Self.prepared(configuration.headers)
    defaultHeaders = headers
    return headers
  }

  /// Header lines in wire form. Without an Accept field, `Accept: */*` is added.
  private static func prepared(_ headers: HTTPHeaders) -> PreparedHeaders {
    var block = HeaderBlock(reservingBytes: 256)
    block.append(headers)
    if !block.hasAccept { block.append(name: "Accept", value: "*/*") }
    return PreparedHeaders(block)
  }

  /// The headers of a hop's URL request in wire form. The request's own fields take precedence over the session's.
  ///
  /// - Parameters:
  ///   - retries: The number of the request's retries so far.
  ///   - secrets: The names of the session's own fields that are left out.
  ///   - trace: The place in a trace that the hop gets if it has none of its own.
  ///   - cookie: The Cookie field from the session's storage.
  ///   - additions: Fields of the hop alone: conditions about a stored response, or the answer to a challenge.
  func headers(
    for hop: HopRequest, retries: Int, without secrets: [String], trace: TraceContext? = nil, cookie: String?,
    additions: [(name: String, value: String)] = []
  ) -> PreparedHeaders {
    var own = hop.headers
    if retries > 0, let header = configuration.announcesAttempts {
      own[header.name] = header.announcing(retries, after: header.count(in: hop))
    }
    for (name, value) in additions { own[name] = value }
    if let trace, hop.value(forHeader: "traceparent") == nil { own = own.with(trace) }
    if secrets.isEmpty, cookie == nil {
      if own.isEmpty { return preparedDefaultHeaders() }
      if let headers = preparedHeaders(adding: own) { return headers }
    }
    var merged = configuration.headers
    for name in secrets { merged.remove(name: name) }
    merged = merged.updated(with: own)
    // The caller's own Cookie field is sent unchanged.
    if let cookie, merged["Cookie"] == nil { merged.update(name: "Cookie", value: cookie) }
    return Self.prepared(merged)
  }

  /// The session's headers and further ones in wire form; nil if one of these takes the place of another. What the
  /// session has of its own is copied.
  private func preparedHeaders(adding own: HTTPHeaders) -> PreparedHeaders? {
    let shared = configuration.headers
    guard own.allSatisfy({ shared[$0.name] == nil && !FieldSyntax.isSameName($0.name, "Accept") }) else { return nil }
    var block = preparedDefaultHeaders().block
    block.append(own)
    return PreparedHeaders(block)
  }

  /// The trace of a request for a monitor that exports spans: the caller's, or a new one. Nil if the caller's is not
  /// recorded.
  func trace(of request: Request, by sampler: TraceSampler) -> RequestTrace? {
    if let own = request.trace, !sampler.records(continuing: own) { return nil }
    let context = request.trace ?? traceIDs.begin(by: sampler)
    guard request.trace != nil || context.isSampled else { return RequestTrace(context: context, recorded: nil) }
    let recorded = request.fields.withLock { fields in
      let start = Date(timeIntervalSinceReferenceDate: (fields.times ?? RequestTimes()).startDate)
      let recorded = RecordedTrace(parent: context, isRoot: request.trace == nil, start: start)
      fields.recordedTrace = recorded
      return recorded
    }
    return RequestTrace(context: context, recorded: recorded)
  }

  /// The identifier of a span.
  func drawSpan() -> UInt64 { traceIDs.parent() }

  /// The adapters of the request's URL requests: the session's, then the request's own.
  func adapters(of request: Request) -> [NamedAdapter] {
    let (hasOwn, isAlone) = request.fields.withLock { ($0.hasInterceptor, $0.leavesSessionOut) }
    if !hasOwn, case .none = request.context.settings.interceptor { return [] }
    let own = request.interceptor
    guard !isAlone, let shared = request.context.settings.interceptor else {
      return own.map { types.adapters(of: $0) } ?? []
    }
    let known = sessionAdapters ?? types.adapters(of: shared)
    sessionAdapters = known
    return own.map { known + types.adapters(of: $0) } ?? known
  }

  /// The retriers to ask about a failure: the session's, then the request's own.
  func retriers(of request: Request) -> [any RequestRetrier] {
    [request.sessionInterceptor, request.interceptor].flatMap { $0.map { types.retriers(of: $0) } ?? [] }
  }

  func nextTaskIdentifier() -> Int {
    taskCount += 1
    return taskCount
  }

  // MARK: The end

  /// Takes no more requests, and ends once the active ones have ended.
  func finishAndInvalidate() {
    guard ending == nil else { return }
    ending = .draining
    endIfDrained()
  }

  /// Does the same, and ends the requests that are still active after so many seconds.
  func finish(within seconds: Double) {
    finishAndInvalidate()
    guard case .draining = ending else { return }
    let due = MonotonicTime.now.advanced(bySeconds: seconds)
    if !graceTimer.isArmed || graceTimer.due > due { loop.schedule(graceTimer, at: due, handler: self) }
  }

  /// Calls `action` once the session has ended, or at once if it has.
  func whenEnded(_ action: @escaping () -> Void) {
    if case .ended = ending { action() } else { awaitingEnd.append(action) }
  }

  /// Ends every unfinished request with `error` and closes all connections.
  func end(with error: WeirError, event: (any Error)?) {
    if case .ended = ending { return }
    ending = .ended(error)
    if let session { monitors.urlSession(session, didBecomeInvalidWithError: event) }
    for pipeline in active.all { pipeline.fail(with: error) }
    transport.close()
    loop.cancel(graceTimer)
    let awaitingEnd = awaitingEnd
    self.awaitingEnd = []
    for action in awaitingEnd { action() }
    // The transport may still report events of its end; they need the session until then.
    loop.atEndOfTurn { [session] in withExtendedLifetime(session) {} }
  }
}

extension SessionCore: TimerHandler {
  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    end(with: .sessionInvalidated(error: nil), event: nil)
  }
}

/// The pipelines of active requests. A place keeps its pipeline until that is removed, and then serves another one.
struct ActivePipelines {
  private var places: [RequestPipeline?] = []
  private var free: [Int] = []

  var isEmpty: Bool { places.count == free.count }

  /// In no particular order.
  var all: [RequestPipeline] { places.compactMap { $0 } }

  /// Nil at no place.
  subscript(place: Int?) -> RequestPipeline? { place.flatMap { places[$0] } }

  mutating func add(_ pipeline: RequestPipeline) -> Int {
    if let place = free.popLast() {
      places[place] = pipeline
      return place
    }
    places.append(pipeline)
    return places.count - 1
  }

  mutating func remove(at place: Int?) -> RequestPipeline? {
    guard let place, let pipeline = places[place] else { return nil }
    places[place] = nil
    free.append(place)
    return pipeline
  }
}

extension HeaderBlock {
  fileprivate mutating func append(_ headers: HTTPHeaders) {
    for header in headers { append(name: header.name, value: header.value) }
  }
}
