import WeirIO

/// Says when it is due to warn of lines that were dropped: at once, and then once in a minute. A value.
struct AccessLogNotices {
  struct Notice: Equatable {
    var count: Int
    /// Why the last of them were dropped.
    var reason: String
  }

  /// Seconds between two warnings.
  static let interval = 60.0

  private var waiting: Notice?
  private var quietUntil = MonotonicTime(nanoseconds: 0)

  /// The time of the next warning; nil while there is nothing to warn of.
  var next: MonotonicTime? { waiting == nil ? nil : quietUntil }

  mutating func note(_ count: Int, because reason: @autoclosure () -> String) {
    guard count > 0 else { return }
    waiting = Notice(count: (waiting?.count ?? 0) + count, reason: reason())
  }

  /// The warning that is due now.
  ///
  /// - Parameter isLast: Whether this is the log's end, at which nothing waits for its minute.
  mutating func due(at now: MonotonicTime, isLast: Bool = false) -> Notice? {
    guard let notice = waiting, isLast || now >= quietUntil else { return nil }
    waiting = nil
    quietUntil = now.advanced(bySeconds: Self.interval)
    return notice
  }
}
