/// The times at which a request started, was answered, completed and was serialized.
///
/// Times are seconds since the reference date (2001-01-01 UTC); durations are seconds.
public struct Timeline: Sendable, Hashable {
  /// The first `resume()`; for a retried request the start of its last retry.
  public let requestStartTime: TimeInterval
  /// The arrival of the first body byte; without a body, the same as ``requestCompletedTime``.
  public let initialResponseTime: TimeInterval
  /// The completion of the last attempt.
  public let requestCompletedTime: TimeInterval
  /// The time at which this handler's value was ready.
  public let serializationCompletedTime: TimeInterval

  /// Makes a timeline of the four times, which are zero in a response made without a request.
  public init(
    requestStartTime: TimeInterval = 0, initialResponseTime: TimeInterval = 0, requestCompletedTime: TimeInterval = 0,
    serializationCompletedTime: TimeInterval = 0
  ) {
    self.requestStartTime = requestStartTime
    self.initialResponseTime = initialResponseTime
    self.requestCompletedTime = requestCompletedTime
    self.serializationCompletedTime = serializationCompletedTime
  }

  /// The seconds from the start to the first body byte.
  public var latency: TimeInterval { initialResponseTime - requestStartTime }
  /// The seconds from the start to the completion of the last attempt.
  public var requestDuration: TimeInterval { requestCompletedTime - requestStartTime }
  /// The seconds from the completion to the serialized value.
  public var serializationDuration: TimeInterval { serializationCompletedTime - requestCompletedTime }
  /// The seconds from the start to the serialized value.
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

  /// The times and durations on one line, in seconds.
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
