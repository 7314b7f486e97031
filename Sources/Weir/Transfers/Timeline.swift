/// When a request started, was answered, completed and was serialized.
///
/// Times are seconds since the reference date (2001-01-01 UTC); durations are seconds.
public struct Timeline: Sendable, Hashable {
  /// The first `resume()`; for a retried request the moment its last retry began.
  public let requestStartTime: TimeInterval
  /// The first body byte; without a body, the same as ``requestCompletedTime``.
  public let initialResponseTime: TimeInterval
  /// The completion of the last attempt.
  public let requestCompletedTime: TimeInterval
  /// When this handler's value was ready.
  public let serializationCompletedTime: TimeInterval

  /// Takes the four times; a response made apart from any request has zeros.
  public init(
    requestStartTime: TimeInterval = 0, initialResponseTime: TimeInterval = 0, requestCompletedTime: TimeInterval = 0,
    serializationCompletedTime: TimeInterval = 0
  ) {
    self.requestStartTime = requestStartTime
    self.initialResponseTime = initialResponseTime
    self.requestCompletedTime = requestCompletedTime
    self.serializationCompletedTime = serializationCompletedTime
  }

  /// From the start to the first body byte.
  public var latency: TimeInterval { initialResponseTime - requestStartTime }
  /// From the start to the completion of the last attempt.
  public var requestDuration: TimeInterval { requestCompletedTime - requestStartTime }
  /// From the completion to the serialized value.
  public var serializationDuration: TimeInterval { serializationCompletedTime - requestCompletedTime }
  /// From the start to the serialized value.
  public var totalDuration: TimeInterval { serializationCompletedTime - requestStartTime }
}

extension Timeline: CustomStringConvertible, CustomDebugStringConvertible {
  /// The durations as a table, in milliseconds.
  public var description: String {
    var table = TextTable()
    table.add("latency", seconds: latency)
    table.add("request", seconds: requestDuration)
    table.add("serialization", seconds: serializationDuration)
    table.add("total", seconds: totalDuration)
    return table.text
  }

  /// Times and durations on one line, in seconds.
  public var debugDescription: String {
    let times = [
      ("Request Start Time", requestStartTime), ("Initial Response Time", initialResponseTime),
      ("Request Completed Time", requestCompletedTime), ("Serialization Completed Time", serializationCompletedTime),
    ]
    let text = times.map { "\"\($0.0)\": \(Self.milliseconds($0.1))" }.joined(separator: ", ")
    return "Timeline: { \(text), \(durations) }"
  }

  private var durations: String {
    [
      ("Latency", latency), ("Request Duration", requestDuration),
      ("Serialization Duration", serializationDuration), ("Total Duration", totalDuration),
    ]
    .map { "\"\($0.0)\": \(Self.milliseconds($0.1)) secs" }.joined(separator: ", ")
  }

  private static func milliseconds(_ seconds: TimeInterval) -> String {
    String(format: "%.3f", seconds)
  }
}
