public import Dispatch
public import Logging
public import Weir

extension LoggingEventMonitor {
  /// Writes the events of all requests of a session to a logger, as lines with metadata (``LogRecord``): those of the
  /// level that the logger has now.
  ///
  /// - Parameter queue: The queue on which they are written; nil means a private one.
  public convenience init(logger: Logger, queue: DispatchQueue? = nil) {
    // The names of the levels are the same.
    let level = LogRecord.Level(rawValue: logger.logLevel.rawValue) ?? .warning
    self.init(queue: queue, level: level, record: { logger.log($0) })
  }
}

extension Request {
  /// Writes the events of the request to a logger, which is by default that of the calling task, with its metadata.
  ///
  /// `Logger.current` is there from swift-log 1.14 on; with an older one, take the default out of this file.
  @discardableResult
  public func log(to logger: Logger = .current) -> Self {
    var logger = logger
    // The provider would look for the task where the lines are written, which is elsewhere.
    for (name, value) in logger.metadataProvider?.get() ?? [:] { logger[metadataKey: name] = value }
    return eventMonitor(LoggingEventMonitor(logger: logger, queue: queueOfRequests))
  }
}

/// Shared by the monitors of all requests, as each request would make one of its own.
private let queueOfRequests = DispatchQueue(label: "weir.swift-log")

extension Logger {
  /// Writes an event: its name as the message, and all that varies as metadata.
  public func log(_ record: LogRecord) {
    log(
      level: Level(rawValue: record.level.rawValue) ?? .info, "\(record.message)",
      metadata: Metadata(record.metadata.map { ($0.name, .string($0.value)) }) { $1 }, source: "weir")
  }
}
