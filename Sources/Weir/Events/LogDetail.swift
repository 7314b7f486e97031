/// A part of an event's text, and what it says of the event for a ``LogRecord``.
struct LogDetail: ExpressibleByStringInterpolation {
  /// Empty if there is nothing to say.
  let text: String
  private(set) var destination: Destination?
  private(set) var status: Int?
  /// The label of an error.
  private(set) var error: String?
  private(set) var trace: TraceContext?

  init(stringLiteral text: String) { self.text = text }

  private init(_ text: String) { self.text = text }

  static func destination(_ destination: Destination) -> LogDetail {
    var detail = LogDetail("\(destination)")
    detail.destination = destination
    return detail
  }

  static func task(_ task: TransferTask) -> LogDetail {
    var detail = LogDetail("task \(task.taskIdentifier)")
    detail.destination = task.destination
    return detail
  }

  static func status(_ response: URLResponse) -> LogDetail {
    guard let status = (response as? HTTPURLResponse)?.statusCode else { return "" }
    var detail = LogDetail("status \(status)")
    detail.status = status
    return detail
  }

  static func error(_ error: WeirError?) -> LogDetail {
    guard let error else { return "" }
    return .error(error.label, text: "\(error)")
  }

  static func error(_ error: (any Error)?) -> LogDetail {
    guard let error else { return "" }
    return .error((error as? WeirError)?.label, text: Redaction.errorText(error.localizedDescription))
  }

  private static func error(_ label: String?, text: String) -> LogDetail {
    var detail = LogDetail("error: \(text)")
    detail.error = label
    return detail
  }

  static func result<Success, Failure>(_ result: Result<Success, Failure>) -> LogDetail {
    switch result {
    case .success: "success"
    case .failure(let error): .error(error as any Error)
    }
  }

  static func metrics(_ metrics: TransferMetrics) -> LogDetail {
    var detail = LogDetail(metrics.logText)
    detail.status = metrics.statusCode
    return detail
  }

  static func record(_ record: AttemptRecord) -> LogDetail {
    var detail = LogDetail(record.logText)
    detail.destination = record.destination
    detail.status = record.metrics.statusCode
    detail.error = record.errorLabel
    detail.trace = record.traceContext
    return detail
  }

  /// The outcome of a request that has settled.
  static func outcome(_ outcome: RequestOutcome, of request: Request) -> LogDetail {
    var detail = LogDetail(outcome.rawValue)
    detail.status = request.lastTask?.lazyResponse?.statusCode
    detail.error = request.error?.label
    return detail
  }
}
