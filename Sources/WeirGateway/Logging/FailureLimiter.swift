import WeirIO

/// Which of many failures get a line of their own: of each kind the first in a window of time; those after it are
/// counted, and told of when the window ends. A value.
struct FailureLimiter<Kind: Hashable & Sendable, Line: Sendable>: Sendable {
  /// What a window held beyond its first.
  struct Rest {
    let kind: Kind
    let count: Int
    /// The last of them.
    let line: Line
  }

  private struct Window {
    var end: MonotonicTime
    var count = 0
    var last: Line?
  }

  /// Seconds.
  let length: Double
  private var windows: [Kind: Window] = [:]

  init(length: Double) {
    self.length = length
  }

  var kinds: Int { windows.count }

  /// When a window ends next; nil without one.
  var nextEnd: MonotonicTime? { windows.values.map(\.end).min() }

  /// True: this one is to be written now.
  mutating func note(_ kind: Kind, _ line: @autoclosure () -> Line, at now: MonotonicTime) -> Bool {
    guard windows[kind] != nil else {
      windows[kind] = Window(end: now.advanced(bySeconds: length))
      return true
    }
    windows[kind]?.count += 1
    windows[kind]?.last = line()
    return false
  }

  /// What the windows that have ended held. Those that held something begin anew, so that a failure that goes on is told
  /// of once in each.
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
