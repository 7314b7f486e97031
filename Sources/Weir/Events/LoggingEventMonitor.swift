public import Dispatch

/// Writes one line of text per event: the event's name, the first digits of the request's identifier, and details.
///
/// A line holds no header values, bodies, userinfo or query, so it may go to a log. Lines are made on ``queue``, not on
/// the event loop.
public final class LoggingEventMonitor: EventMonitor, UniformEventMonitor {
  public let queue: DispatchQueue
  private let sink: @Sendable (String) -> Void

  /// - Parameters:
  ///   - queue: The queue on which lines are made and passed on; nil means a private serial queue.
  ///   - sink: Gets each line, without a newline.
  @preconcurrency
  public init(queue: DispatchQueue? = nil, sink: @escaping @Sendable (String) -> Void) {
    self.queue = queue ?? DispatchQueue(label: "weir.loggingEventMonitor")
    self.sink = sink
  }

  func handle<Arguments: Sendable>(
    _ interest: EventInterests, _ arguments: Arguments,
    _ event: @escaping @Sendable (any EventMonitor, Arguments) -> Void,
    _ closure: (ClosureEventMonitor) -> Void, _ line: (LoggingEventMonitor) -> Void
  ) {
    line(self)
  }

  // MARK: Lines

  func log(_ event: String, _ details: String...) {
    write([event] + details)
  }

  func log(_ event: String, _ request: Request, _ details: String...) {
    write([event, String(request.id.uuidString.prefix(8))] + details)
  }

  func log(_ event: String, _ task: TransferTask, _ details: String...) {
    write([event, task.logText] + details)
  }

  func log(_ event: RefreshEvent) {
    switch event.kind {
    case .began: log("session.refresh", "began", event.interceptor)
    case .ended(let duration, let outcome):
      log("session.refresh", outcome.rawValue, event.interceptor, "after \(duration.logText)")
    // Each waiting request has such an event, and there may be very many.
    case .waiting: break
    }
  }

  /// Joins the lines of an error text: each event is one line.
  private func write(_ parts: [String]) {
    let line = parts.filter { !$0.isEmpty }.joined(separator: " ")
    sink(line.contains(where: \.isNewline) ? line.split(whereSeparator: \.isNewline).joined(separator: " ") : line)
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

extension TransferTask {
  var logText: String { "task \(taskIdentifier)" }
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

extension (any Error)? {
  var logText: String {
    self.map { "error: \(Redaction.errorText($0.localizedDescription))" } ?? ""
  }
}

extension WeirError? {
  var logText: String { self?.logText ?? "" }
}

extension WeirError {
  var logText: String { "error: \(self)" }
}

extension Result where Failure: Error {
  var logText: String {
    switch self {
    case .success: "success"
    case .failure(let error): (error as any Error as (any Error)?).logText
    }
  }
}
