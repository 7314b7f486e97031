public import Dispatch

/// Makes a record of each event, or one line of text: the event's name, the first digits of the request's identifier,
/// and details.
///
/// ```swift
/// let monitor = LoggingEventMonitor(level: .debug, record: { record in
///   print(record.level, record.message, record.metadata)
/// })
/// ```
///
/// Neither has header values, bodies, userinfo or query, so both may go to a log. They are made on ``queue``, not on the
/// event loop. Added to one request (``Request/eventMonitor(_:)``), it writes to the log of the request's caller.
public final class LoggingEventMonitor: EventMonitor, UniformEventMonitor {
  public let queue: DispatchQueue
  private let level: LogRecord.Level
  private let sink: @Sendable (LogRecord) -> Void

  /// - Parameters:
  ///   - queue: The queue on which records are made and passed on; nil means a private serial queue.
  ///   - level: Events of less weight make no record.
  ///   - record: Gets at most one record for each event, in the order of the events.
  @preconcurrency
  @_disfavoredOverload
  public init(
    queue: DispatchQueue? = nil, level: LogRecord.Level = .trace, record: @escaping @Sendable (LogRecord) -> Void
  ) {
    self.queue = queue ?? DispatchQueue(label: "weir.loggingEventMonitor")
    self.level = level
    sink = record
  }

  /// - Parameters:
  ///   - queue: The queue on which lines are made and passed on; nil means a private serial queue.
  ///   - sink: Gets each line, without a newline: the ``LogRecord/description`` of its record.
  @preconcurrency
  public convenience init(queue: DispatchQueue? = nil, sink: @escaping @Sendable (String) -> Void) {
    self.init(queue: queue, record: { sink($0.description) })
  }

  /// The groups that have events of the level.
  public var interests: EventInterests {
    let ofAllLevels: EventInterests = [.attempts, .session, .resilience, .refreshes]
    return switch level {
    case .trace: .all
    case .debug: ofAllLevels.union(.records)
    case .info, .warning: ofAllLevels
    }
  }

  func handle<Arguments: Sendable>(
    _ interest: EventInterests, _ arguments: Arguments,
    _ event: @escaping @Sendable (any EventMonitor, Arguments) -> Void,
    _ closure: (ClosureEventMonitor) -> Void, _ line: (LoggingEventMonitor) -> Void
  ) {
    line(self)
  }

  // MARK: Records

  func log(_ event: String, _ details: LogDetail..., level: LogRecord.Level = .trace) {
    if level >= self.level { sink(LogRecord(level, event, nil, details)) }
  }

  func log(_ event: String, _ request: Request, _ details: LogDetail..., level: LogRecord.Level = .trace) {
    if level >= self.level { sink(LogRecord(level, event, request, details)) }
  }

  func log(_ outcome: RequestOutcome, of request: Request) {
    let result = LogDetail.outcome(outcome, of: request)
    let level: LogRecord.Level =
      switch outcome {
      case .success, .cancelled: .debug
      case .httpError where (400..<500).contains(result.status ?? 0): .info
      default: .warning
      }
    log("request.didSettle", request, result, level: level)
  }

  func log(_ event: EndpointEvent, of origin: Destination) {
    let isBack = event.kind == .returned || event.kind == .healthy
    log("session.endpoint", "\(event)", .destination(origin), level: isBack ? .info : .warning)
  }

  func log(_ event: RefreshEvent) {
    switch event.kind {
    case .began: log("session.refresh", "began", "\(event.interceptor)", level: .debug)
    case .ended(let duration, let outcome):
      log(
        "session.refresh", "\(outcome.rawValue)", "\(event.interceptor)", "after \(duration.logText)",
        level: outcome == .success ? .debug : .warning)
    // Each waiting request has such an event, and there may be very many.
    case .waiting: break
    }
  }
}

// MARK: - Texts

extension URLRequest {
  /// Method and URL without userinfo, query and fragment, each of which may hold a secret.
  var logText: String {
    let address = url.flatMap { url -> String? in
      var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
      let hadQuery = parts?.percentEncodedQuery != nil
      parts?.user = nil
      parts?.password = nil
      parts?.percentEncodedQuery = nil
      parts?.fragment = nil
      return parts?.string.map { hadQuery ? $0 + "?…" : $0 }
    }
    return "\(httpMethod ?? "GET") \(address ?? "(no URL)")"
  }
}

extension UploadRequest.Uploadable {
  var logText: String {
    switch self {
    case .data(let data): "\(data.count) bytes"
    case .file(let url, _): "file \(url.path)"
    case .stream: "stream"
    }
  }
}

extension TransferChallenge {
  var logText: String {
    let answer = proposedCredential == nil ? "no credential" : "failures \(previousFailureCount)"
    return "\(protectionSpace.host):\(protectionSpace.port) \(answer)"
  }
}

extension TransferMetrics {
  var logText: String {
    [
      statusCode.map { "status \($0)" } ?? "no response", total?.logText, "\(bytesSent) bytes sent",
      "\(bytesReceivedOnWire) received", redirectCount > 0 ? "\(redirectCount) redirects" : nil,
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

extension AttemptRecord {
  var logText: String {
    [
      traceContext?.traceparent, metrics.statusCode.map { "status \($0)" }, errorLabel.map { "error \($0)" },
      retryReason.map { "after \($0.rawValue)" }, isHedge ? "hedge" : nil, isAbandoned ? "abandoned" : nil,
    ].compactMap { $0 }.joined(separator: ", ")
  }
}

extension TimeInterval {
  var logText: String { "\((self * 1e6).rounded() / 1e3) ms" }
}
