/// An event as a record for a structured log (``LoggingEventMonitor``).
///
/// A record holds no header values, bodies, userinfo or query, so it may go to a log. ``description`` is the same as one
/// line of text.
public struct LogRecord: Sendable, CustomStringConvertible {
  /// The weight of an event. The raw values are those of swift-log.
  @nonexhaustive
  public enum Level: String, Sendable, CaseIterable, Comparable {
    /// A step of a request or a piece of a body: some twenty for each request.
    case trace
    /// A turn in the course of a request, such as an attempt's end or a retry, or a request that succeeded.
    case debug
    /// A destination that is well again or asks for a pause, or a request that was answered by a status from 400 to 499.
    case info
    /// A request that failed, or trouble that concerns more than one request.
    case warning

    public static func < (left: Level, right: Level) -> Bool { left.order < right.order }

    private var order: Int {
      switch self {
      case .trace: 0
      case .debug: 1
      case .info: 2
      case .warning: 3
      }
    }
  }

  /// The weight of the event.
  public let level: Level
  /// The event's name, for example `request.didSettle`. It has no variable parts.
  public let message: String
  /// The facts about the event that are known, in this order. No name comes twice.
  ///
  /// | name | value |
  /// |---|---|
  /// | `destination` | scheme, host and port |
  /// | `method` | the request's method |
  /// | `status` | the status of the response that the event is about |
  /// | `attempts` | how many attempts of the request were put on the wire |
  /// | `error` | a word for the error, fit for a metric |
  /// | `trace_id`, `span_id` | the attempt's place in a trace; for other events the parent of the attempts' spans |
  /// | `request_id` | ``Request/id``, which joins the records of a request |
  /// | `details` | the rest, as text on one line |
  public let metadata: [(name: String, value: String)]
  private let identifier: String?
  private let details: String

  init(_ level: Level, _ message: String, _ request: Request?, _ details: [LogDetail]) {
    self.level = level
    self.message = message
    self.details = details.lazy.map(\.text).filter { !$0.isEmpty }.joined(separator: " ")
    identifier = request?.id.uuidString
    let trace = details.firstFact(\.trace) ?? request?.recordedTrace?.parent
    let attempts = request.map(\.attemptCount) ?? 0
    let facts: [(String, String?)] = [
      ("destination", (details.firstFact(\.destination) ?? request?.destination).map { "\($0)" }),
      ("method", request?.method?.rawValue),
      ("status", details.firstFact(\.status).map { "\($0)" }),
      ("attempts", attempts > 0 ? "\(attempts)" : nil),
      ("error", details.firstFact(\.error)),
      ("trace_id", trace?.traceID),
      ("span_id", trace?.parentID),
      ("request_id", identifier),
      ("details", self.details.isEmpty ? nil : self.details.onOneLine),
    ]
    metadata = facts.compactMap { name, value in value.map { (name, $0) } }
  }

  /// The value of a fact; nil if it is not known.
  public subscript(name: String) -> String? { metadata.first { $0.name == name }?.value }

  /// One line: the event's name, the first digits of the request's identifier, and the details.
  public var description: String {
    [message, identifier.map { String($0.prefix(8)) }, details].compactMap { $0 }.filter { !$0.isEmpty }
      .joined(separator: " ").onOneLine
  }
}

extension [LogDetail] {
  fileprivate func firstFact<Fact>(_ fact: KeyPath<LogDetail, Fact?>) -> Fact? {
    for detail in self {
      if let found = detail[keyPath: fact] { return found }
    }
    return nil
  }
}

extension String {
  /// The lines of an error's text, joined.
  fileprivate var onOneLine: String {
    contains(where: \.isNewline) ? split(whereSeparator: \.isNewline).joined(separator: " ") : self
  }
}
