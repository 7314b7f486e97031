import Synchronization
import WeirIO

/// The access log of a gateway, through all of its configurations. It has a thread from the first configuration on that
/// asks for one.
final class AccessLog: Sendable {
  /// A place that is open, so that nothing can fail any more.
  struct Change: Sendable {
    fileprivate let place: AccessLogWriter.Place
    /// Nil while no configuration has asked for a log.
    let writer: AccessLogWriter?
  }

  private let counters: @Sendable () -> AccessLogCounters
  private let warn: @Sendable (AccessLogNotices.Notice) -> Void
  private let queue: AccessLogQueue
  private let present = Mutex<(writer: AccessLogWriter?, target: AccessLogSettings.Target?)>((nil, nil))

  /// - Parameters:
  ///   - counters: Makes the series, once there is a log.
  ///   - warn: Tells of lines that were dropped.
  init(
    queue: AccessLogQueue = AccessLogQueue(), counters: @escaping @Sendable () -> AccessLogCounters,
    warn: @escaping @Sendable (AccessLogNotices.Notice) -> Void
  ) {
    self.queue = queue
    self.counters = counters
    self.warn = warn
  }

  deinit {
    present.withLock { $0.writer }?.end(by: .now)
  }

  /// Opens the place of a configuration's log. Lines go there after ``commit(_:)``.
  func prepare(_ settings: AccessLogSettings?) throws(AccessLogProblem) -> Change {
    let writer = present.withLock { $0.writer }
    guard let target = settings?.target else { return Change(place: AccessLogWriter.Place(), writer: writer) }
    let place = AccessLogWriter.Place(target: target, output: try AccessLogOutput.open(target))
    if let writer { return Change(place: place, writer: writer) }
    do throws(Errno) {
      let started = try AccessLogWriter(queue: queue, counters: counters(), warn: warn)
      present.withLock { $0.writer = started }
      return Change(place: place, writer: started)
    } catch {
      throw AccessLogProblem(target: target, error: error)
    }
  }

  /// Whether there is a place for lines.
  var isOn: Bool { present.withLock { $0.target != nil } }

  func commit(_ change: Change) {
    present.withLock { $0.target = change.place.target }
    change.writer?.follow(change.place)
  }

  /// Opens the same place anew, since the file may have been renamed.
  func reopen() throws(AccessLogProblem) {
    let (writer, target) = present.withLock { $0 }
    guard let writer, let target else { return }
    writer.follow(AccessLogWriter.Place(target: target, output: try AccessLogOutput.open(target)))
  }

  /// Writes what waits, for at most so many seconds, and ends.
  func finish(within seconds: Double) async {
    guard let writer = present.withLock({ $0.writer }) else { return }
    let end = MonotonicTime.now.advanced(bySeconds: seconds)
    writer.end(by: end)
    // The thread itself may wait for a disk.
    while !writer.isOver, MonotonicTime.now < end.advanced(bySeconds: 0.5) {
      try? await Task.sleep(for: .milliseconds(5))
    }
  }
}

/// The reason why an access log can't be written.
struct AccessLogProblem: Error, CustomStringConvertible {
  let target: AccessLogSettings.Target
  let error: Errno

  var description: String {
    let name = if case .file(let path) = target { path } else { "the standard output or error" }
    return "accessLog.to: \(name) can't be opened: \(error)"
  }
}
