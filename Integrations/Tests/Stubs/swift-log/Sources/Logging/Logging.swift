/// Writes to a handler.
public struct Logger: Sendable {
  public enum Level: String, Sendable, CaseIterable, Comparable {
    case trace, debug, info, notice, warning, error, critical

    public static func < (left: Level, right: Level) -> Bool {
      (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
    }
  }

  public struct Message: Sendable, Equatable, CustomStringConvertible, ExpressibleByStringInterpolation {
    public let description: String
    public init(stringLiteral value: String) { description = value }
  }

  public enum MetadataValue: Sendable, Equatable, ExpressibleByStringInterpolation {
    case string(String)
    public init(stringLiteral value: String) { self = .string(value) }
  }

  public typealias Metadata = [String: MetadataValue]

  public struct MetadataProvider: Sendable {
    private let provide: @Sendable () -> Metadata
    public init(_ provide: @escaping @Sendable () -> Metadata) { self.provide = provide }
    public func get() -> Metadata { provide() }
  }

  public var metadataProvider: MetadataProvider? { handler.metadataProvider }

  @TaskLocal private static var ofTask = Logger(label: "", factory: { _ in Silent() })

  public let label: String
  public var handler: any LogHandler

  public init(label: String, factory: (String) -> any LogHandler) {
    self.label = label
    handler = factory(label)
  }

  public init(label: String) { self.init(label: label, factory: { _ in Silent() }) }

  /// The task's own.
  public static var current: Logger { ofTask }

  public var logLevel: Level {
    get { handler.logLevel }
    set { handler.logLevel = newValue }
  }

  public subscript(metadataKey key: String) -> MetadataValue? {
    get { handler[metadataKey: key] }
    set { handler[metadataKey: key] = newValue }
  }

  public func log(
    level: Level, _ message: @autoclosure () -> Message, metadata: @autoclosure () -> Metadata? = nil,
    source: @autoclosure () -> String? = nil, file: String = #fileID, function: String = #function, line: UInt = #line
  ) {
    guard level >= logLevel else { return }
    handler.log(
      event: LogEvent(level: level, message: message(), metadata: metadata(), source: source() ?? "unknown"))
  }

  fileprivate static func with<Result>(
    _ logger: Logger, _ operation: () async throws -> Result
  ) async rethrows -> Result {
    try await $ofTask.withValue(logger, operation: operation)
  }
}

/// Makes a logger the task's own while `operation` runs.
public func withLogger<Result>(
  _ logger: Logger, _ operation: (Logger) async throws -> Result
) async rethrows -> Result {
  try await Logger.with(logger) { try await operation(logger) }
}

public struct LogEvent: Sendable {
  public var level: Logger.Level
  public var message: Logger.Message
  public var metadata: Logger.Metadata?
  public var source: String
}

public protocol LogHandler: Sendable {
  func log(event: LogEvent)
  subscript(metadataKey key: String) -> Logger.MetadataValue? { get set }
  var metadata: Logger.Metadata { get set }
  var logLevel: Logger.Level { get set }
  var metadataProvider: Logger.MetadataProvider? { get set }
}

extension LogHandler {
  public var metadataProvider: Logger.MetadataProvider? {
    get { nil }
    set {}
  }

  public subscript(metadataKey key: String) -> Logger.MetadataValue? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }
}

private struct Silent: LogHandler {
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.critical
  func log(event: LogEvent) {}
}

public enum LoggingSystem {
  public static func bootstrap(_ factory: @escaping @Sendable (String) -> any LogHandler) {}
}
