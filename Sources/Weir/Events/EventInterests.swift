/// Which groups of callbacks a monitor wants. What nobody wants is not even prepared, which matters most for
/// ``tasks`` (a Foundation response per attempt) and ``data`` (a call per chunk).
public struct EventInterests: OptionSet, Sendable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  /// `requestDidResume`, `…Suspend`, `…Cancel`, `…Finish`, `requestIsRetrying` and their tasks' counterparts.
  public static let lifecycle = EventInterests(rawValue: 1 << 0)
  /// Creation and adaptation of URL requests.
  public static let creation = EventInterests(rawValue: 1 << 1)
  /// `urlSession(_:…)` callbacks of tasks, without data.
  public static let tasks = EventInterests(rawValue: 1 << 2)
  /// `urlSession(_:dataTask:didReceive: Data)` and `didSendBodyData`.
  public static let data = EventInterests(rawValue: 1 << 3)
  /// Validation and serialization.
  public static let responses = EventInterests(rawValue: 1 << 4)
  /// Adapters' durations, attempts, retry decisions and settling, which are weir's additions; and `requestIsRetrying`.
  public static let attempts = EventInterests(rawValue: 1 << 5)
  /// Loop lag, invalidation.
  public static let session = EventInterests(rawValue: 1 << 6)
  /// Connections opened and closed.
  public static let connections = EventInterests(rawValue: 1 << 8)
  /// Connections reused for a request, and idle after one: ``TransferMetrics/isReusedConnection`` says the former too.
  public static let connectionUse = EventInterests(rawValue: 1 << 9)
  /// `urlSession(_:task:willPerformHTTPRedirection:newRequest:)`.
  public static let redirects = EventInterests(rawValue: 1 << 7)

  public static let all = EventInterests(rawValue: .max)
}
