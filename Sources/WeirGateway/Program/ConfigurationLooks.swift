import Glibc
import Synchronization
import WeirIO

/// Looks at the files of the configuration, and asks for a reload if they have changed: `--config.watch`.
///
/// The looks are made by a thread of their own, because a file system may keep its callers waiting.
final class ConfigurationLooks: Sendable {
  private struct State {
    var watch = ConfigurationWatch()
    /// Whether a reload was asked for and is not over yet.
    var isAsked = false
  }

  private let interval: Duration
  private let log: Logger
  private let ask: @Sendable (_ done: @escaping @Sendable () -> Void) -> Void
  private let state = Mutex(State())

  /// - Parameter ask: Asks for a reload, and has `done` called after it, or if there will be none.
  init(
    every interval: Duration, log: Logger, ask: @escaping @Sendable (_ done: @escaping @Sendable () -> Void) -> Void
  ) {
    self.interval = interval
    self.log = log
    self.ask = ask
  }

  /// Begins to look, until this object is released. Throws if the system has no thread to give.
  func start() throws(Errno) {
    let (seconds, attoseconds) = interval.components
    try startDetachedThread(name: "weir.files") { [weak self] in
      while true {
        // No signal is delivered to this thread and cuts the pause short.
        var pause = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        nanosleep(&pause, nil)
        guard let self else { return }
        self.look()
      }
    }
  }

  /// Notes that files were read, well or not.
  /// - Parameter areFollowed: Whether they hold now, or are refused for good.
  func wereRead(_ files: FilesRead, areFollowed: Bool = true) {
    let (paths, marks) = (files.paths, files.marks)
    state.withLock { $0.watch.wereRead(paths, marks, areFollowed: areFollowed) }
  }

  private func look() {
    // Not under the lock, which a reload takes too.
    let paths = state.withLock { $0.isAsked ? [] : $0.watch.paths }
    var marks: [String: FileMark] = [:]
    for path in paths { marks[path] = FileMark(ofFile: path) }
    let (gone, isDue) = state.withLock { state in
      // A reload meanwhile may have read other files.
      guard !state.isAsked, state.watch.paths == paths else { return ([String](), false) }
      let gone = state.watch.newlyGone(marks)
      state.isAsked = state.watch.look(marks)
      return (gone, state.isAsked)
    }
    for path in gone {
      log.warn("a file of the configuration is gone; what was read from it stays in force", ["file": .string(path)])
    }
    if isDue { ask { [weak self] in self?.state.withLock { $0.isAsked = false } } }
  }
}
