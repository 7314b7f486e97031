/// The limits of a session's times, as durations; nil stands for no limit.
public struct Timeouts: Sendable, Hashable {
  /// The limit of a whole request from `resume()`: attempts, redirects, retry delays, adapters and refreshes.
  public var total: Duration?
  /// The limit of name lookup, TCP and TLS together.
  public var connect: Duration?
  /// The longest silence in either direction.
  public var silence: Duration?
  /// The limit of one attempt, from when it goes on the wire until the final head of its response is there.
  public var attempt: Duration?

  /// Makes limits. To set one of a session and keep the others, write `configuration.timeouts.total = .seconds(5)`.
  public init(total: Duration?, connect: Duration?, silence: Duration?, attempt: Duration? = nil) {
    self.total = total
    self.connect = connect
    self.silence = silence
    self.attempt = attempt
  }
}

extension SessionConfiguration {
  /// The limits of times in one value: ``timeoutIntervalForResource``, ``connectTimeout``, ``timeoutIntervalForRequest``
  /// and ``attemptTimeout``, which it reads and sets. Nil is set as infinity. Seconds that are not finite, or too many for
  /// a `Duration`, are read as nil.
  public var timeouts: Timeouts {
    get {
      Timeouts(
        total: Duration(limit: timeoutIntervalForResource), connect: Duration(limit: connectTimeout),
        silence: Duration(limit: timeoutIntervalForRequest), attempt: attemptTimeout.flatMap(Duration.init(limit:)))
    }
    set {
      timeoutIntervalForResource = newValue.total?.inSeconds ?? .infinity
      connectTimeout = newValue.connect?.inSeconds ?? .infinity
      timeoutIntervalForRequest = newValue.silence?.inSeconds ?? .infinity
      attemptTimeout = newValue.attempt?.inSeconds
    }
  }
}

extension Duration {
  /// Beyond this many seconds, some thirty thousand years, a limit is none.
  private static let mostSeconds = 1e12

  /// Makes a duration of a limit in seconds; nil if that is no limit.
  fileprivate init?(limit seconds: TimeInterval) {
    guard abs(seconds) < Self.mostSeconds else { return nil }
    self = .seconds(seconds)
  }

  /// The duration in seconds.
  var inSeconds: TimeInterval { self / .seconds(1) }
}
