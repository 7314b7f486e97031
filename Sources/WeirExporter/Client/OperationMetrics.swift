import Synchronization
import Weir
import WeirCurl
import WeirMetrics
import WeirTransport

/// The metric handles of a destination's requests with one operation, or without one: those of the families with a label
/// `operation`.
final class OperationMetrics: Sendable {
  /// The series that all operations of the destination share.
  let destination: DestinationMetrics
  /// Empty for requests without an operation.
  private let operation: String
  /// The series of GET, or of the method of an operation's first request, which is mostly its only one.
  private let usual: SettledSeries
  /// The requests of an operation that were started; those without one are not counted here.
  private let started = Tally()
  private let others = Mutex<[String: SettledSeries]>([:])
  /// The series of the attempt that ended last, since attempts of one kind mostly follow each other, and the share of the
  /// families that attempts may use.
  private let ended = Mutex<(last: AttemptSeries?, share: SeriesShare<AttemptLabels>)>((nil, SeriesShare()))
  private let reasons = Mutex(SeriesShare<String>())

  /// The retry reasons that get a series at once: those that ``RetryPolicy`` retries by default and that servers often
  /// cause. The first burst of a retry storm must show as an increase. Other reasons get a series when they occur.
  private static let likelyRetries: [String] = {
    let codes: [FailureCode] = [
      .badServerResponse, .cannotConnectToHost, .cannotFindHost, .networkConnectionLost, .secureConnectionFailed,
      .timedOut,
    ]
    return RetryPolicy.defaultRetryableHTTPStatusCodes.map(String.init) + codes.map(\.label)
  }()

  private var isNamed: Bool { !operation.isEmpty }

  /// - Parameter method: That of the series which are made at once.
  init(_ destination: DestinationMetrics, _ operation: String, method: String) {
    self.destination = destination
    self.operation = operation
    usual = SettledSeries(destination, method: method, operation)
    guard operation.isEmpty else { return }
    for reason in Self.likelyRetries {
      _ = destination.families.retries.with(destination.address, destination.port, reason, "")
    }
  }

  /// Makes a method's series at zero.
  func prepare(method: String) {
    destination.prepare(method: method)
    _ = settled(of: method)
  }

  func started(method: String) {
    if isNamed { started.add() }
    destination.started(method: method)
  }

  func settled(
    method: String, outcome: RequestOutcome, seconds: Double, trace: TraceContext? = nil, span: UInt64? = nil
  ) {
    destination.settled(outcome: outcome, seconds: seconds, trace: trace, span: span)
    if operation == DestinationIndex.sharedName { destination.families.requests.noteFolded() }
    // Counted last, because the code that waits to forget the destination waits for this count.
    settled(of: method).count(outcome)
  }

  /// Brings the counters of settled requests up to date. Returns how many there were.
  func show() -> Int {
    let others = others.withLock { Array($0.values) }
    return others.reduce(usual.show()) { $0 + $1.show() }
  }

  /// The number of an operation's requests that have settled; nil while one is under way.
  func settledIfQuiet() -> Int? {
    let settled = show()
    return settled == Int(clamping: started.value) ? settled : nil
  }

  /// The series of a method, with all outcomes at zero from its first request on. Methods are few: unknown ones are
  /// `_OTHER`.
  private func settled(of method: String) -> SettledSeries {
    if method == usual.method { return usual }
    return others.withLock { others in
      if let known = others[method] { return known }
      let series = SettledSeries(destination, method: method, operation)
      others[method] = series
      return series
    }
  }

  func attemptEnded(method: String, _ report: AttemptReport, errorType: String) {
    let series = series(
      of: AttemptLabels(method: method, status: report.statusCode, errorType: errorType),
      version: VersionLabel.of(report.networkProtocolName), encoding: EncodingLabel.of(report.contentEncoding))
    series.duration.observe(report.total ?? 0)
    series.attempts.increment()
    series.wireBytes.increment(by: Int(clamping: report.bytesReceivedOnWire))
    series.decodedBytes.increment(by: Int(clamping: report.bytesDecoded))
  }

  private func series(of labels: AttemptLabels, version: String, encoding: String) -> AttemptSeries {
    ended.withLock { ended in
      if let last = ended.last, last.labels == labels, last.version == version, last.encoding == encoding {
        return last
      }
      let isOwn = ended.share.admits(labels, limit: SeriesLimits.ownAttempts(isNamed: isNamed))
      let series = AttemptSeries(
        labels, version: version, encoding: encoding, operation, isCoarse: !isOwn, destination)
      ended.last = series
      return series
    }
  }

  func retried(because reason: RetryReason) {
    let limit = SeriesLimits.ownRetryReasons(isNamed: isNamed)
    let isOwn = reasons.withLock { $0.admits(reason.rawValue, limit: limit) }
    let label = isOwn ? reason.rawValue : CoarseLabel.of(reason.rawValue)
    destination.families.retries.with(destination.address, destination.port, label, operation).increment()
  }
}

/// The metrics of a destination's operations, and of its requests without one. Operations beyond the limit share one set of
/// series, labelled `_other`.
final class OperationIndex: Sendable {
  let unnamed: OperationMetrics
  private let state = Mutex(State())

  private struct State {
    var known: [String: OperationMetrics] = [:]
    var other: OperationMetrics?
    /// The requests of operations that were forgotten.
    var forgotten = 0
  }

  init(_ destination: DestinationMetrics) {
    unnamed = OperationMetrics(destination, "", method: "GET")
  }

  var destination: DestinationMetrics { unnamed.destination }

  /// - Parameter method: The label of the request's method.
  func metrics(of operation: NamedOperation?, method: @autoclosure () -> String) -> OperationMetrics {
    guard let operation else { return unnamed }
    return state.withLock { state in
      if let known = state.known[operation.name] { return known }
      if state.known.count < destination.families.limits.operations {
        let new = OperationMetrics(destination, operation.name, method: method())
        state.known[operation.name] = new
        return new
      }
      let other = state.other ?? OperationMetrics(destination, DestinationIndex.sharedName, method: method())
      state.other = other
      return other
    }
  }

  /// Brings the counters of requests up to date, and sets those in flight to the started less the settled.
  func show() {
    let (named, forgotten) = state.withLock { state in
      (Array(state.known.values) + [state.other].compactMap(\.self), state.forgotten)
    }
    destination.show(settled: named.reduce(unnamed.show() + forgotten) { $0 + $1.show() })
  }

  /// Whether requests of an operation are under way.
  func uses(_ operation: String) -> Bool {
    guard let metrics = state.withLock({ $0.known[operation] }) else { return false }
    return metrics.settledIfQuiet() == nil
  }

  /// Makes room for other operations in place of one that no more requests will have.
  func forget(_ operation: String) {
    state.withLock { state in
      guard let settled = state.known[operation]?.settledIfQuiet() else { return }
      state.known[operation] = nil
      state.forgotten += settled
    }
  }

  /// Whether no request or attempt is under way and no connection is open.
  var isQuiet: Bool {
    show()
    return destination.isQuiet
  }
}

/// Method, status and error of an ended attempt: the labels that the server and the caller can influence.
private struct AttemptLabels: Hashable {
  let method: String
  let status: Int?
  let errorType: String
}

/// The series of ended attempts that are alike.
private final class AttemptSeries: Sendable {
  let labels: AttemptLabels
  let version: String
  let encoding: String
  let duration: Histogram
  let attempts, wireBytes, decodedBytes: Counter

  init(
    _ labels: AttemptLabels, version: String, encoding: String, _ operation: String, isCoarse: Bool,
    _ destination: DestinationMetrics
  ) {
    self.labels = labels
    self.version = version
    self.encoding = encoding
    let (families, address, port) = (destination.families, destination.address, destination.port)
    let (status, error) = (labels.status.map(String.init) ?? "", labels.errorType)
    duration =
      isCoarse
      ? families.attemptDuration.with(
        address, port, MethodLabel.other, CoarseLabel.of(status), CoarseLabel.of(error), operation)
      : families.attemptDuration.with(address, port, labels.method, status, error, operation)
    attempts = families.attempts.with(address, port, version)
    wireBytes = families.wireBytes.with(address, port, encoding)
    decodedBytes = families.decodedBytes.with(address, port, encoding)
  }
}
