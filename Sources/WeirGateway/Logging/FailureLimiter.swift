import WeirIO

/// Decides which failures get a line of their own: of each kind, the first in a window of time. Later ones are counted
/// and reported when the window ends. A value.
struct FailureLimiter<Kind: Hashable & Sendable, Line: Sendable>: Sendable {
  /// The failures of a window after its first.
  struct Rest {
    let kind: Kind
    let count: Int
    /// The line of the last failure.
    let line: Line
  }

  private struct Window {
    var end: MonotonicTime
    var count = 0
    var last: Line?
  }

  /// The length of a window in seconds.
  let length: Double
  private var windows: [Kind: Window] = [:]

  init(length: Double) {
    self.length = length
  }

  var kinds: Int { windows.count }

  /// The time at which the next window ends; nil if there is none.
  var nextEnd: MonotonicTime? { windows.values.map(\.end).min() }

  /// Notes a failure. Returns true if it must be written now.
  mutating func note(_ kind: Kind, _ line: @autoclosure () -> Line, at now: MonotonicTime) -> Bool {
    guard windows[kind] != nil else {
      windows[kind] = Window(end: now.advanced(bySeconds: length))
      return true
    }
    windows[kind]?.count += 1
    windows[kind]?.last = line()
    return false
  }

  /// Returns the counted failures of the windows that have ended. Windows that counted any begin anew, so that a
  /// failure that goes on is reported once in each.
  mutating func ended(at now: MonotonicTime) -> [Rest] {
    var rests: [Rest] = []
    for (kind, window) in windows where window.end <= now {
      if let line = window.last {
        rests.append(Rest(kind: kind, count: window.count, line: line))
        windows[kind] = Window(end: now.advanced(bySeconds: length))
      } else {
        windows[kind] = nil
      }
    }
    return rests
  }
}
