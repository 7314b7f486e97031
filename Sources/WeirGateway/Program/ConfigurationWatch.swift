import Glibc
import Synchronization
import WeirIO

/// Decides at each look at the files of the configuration whether they are to be read again. A value.
///
/// A file has changed if it is there and looks other than when it was read last. Changes count once two looks have
/// found all files the same, since a file may be half written, and several may change together; where a file changes at
/// each look, the fourth look is enough. A file that is gone has not changed until it is back. Files that were read and
/// refused are not read again before they change again; good files that could not be followed, as where a port is taken,
/// are tried again after 1, 2, 4 and so on looks, 64 at most.
struct ConfigurationWatch: Equatable {
  /// The files that were read last, also those that were missing.
  private(set) var paths: Set<String> = []
  private var marksWhenRead: [String: FileMark] = [:]
  private var marksBefore: [String: FileMark] = [:]
  /// The files that are gone, as was told.
  private var gone: Set<String> = []
  /// The looks since the last reading that have found a change and no rest.
  private var restless = 0
  private static let patience = 3
  /// The looks before files that could not be followed are tried again; nil if there are none.
  private var looksLeft: Int?
  private var pause = 1
  private static let longestPause = 64

  /// - Parameters:
  ///   - paths: The files that were read, well or not.
  ///   - marks: Their marks from before that; none for a missing file.
  ///   - areFollowed: Whether they hold now, or are refused for good.
  mutating func wereRead(_ paths: Set<String>, _ marks: [String: FileMark], areFollowed: Bool = true) {
    let isRepeated = looksLeft != nil && marks == marksWhenRead
    pause = isRepeated ? min(pause * 2, Self.longestPause) : 1
    looksLeft = areFollowed ? nil : pause
    self.paths = paths
    marksWhenRead = marks
    marksBefore = marks
    gone = []
    restless = 0
  }

  /// The files that were there when they were read, and that this look and the one before it do not find. Each is told
  /// once before it is back. Call it before ``look(_:)`` with the same marks.
  mutating func newlyGone(_ marks: [String: FileMark]) -> [String] {
    gone = gone.filter { marks[$0] == nil }
    let found = marksWhenRead.keys.filter { marks[$0] == nil && marksBefore[$0] == nil && !gone.contains($0) }
    gone.formUnion(found)
    return found.sorted()
  }

  /// - Parameter marks: What the files look like now; none for a missing file.
  /// - Returns: Whether the files are to be read again. The answer stays the same until they are.
  mutating func look(_ marks: [String: FileMark]) -> Bool {
    defer { marksBefore = marks }
    guard marks.contains(where: { path, mark in marksWhenRead[path] != mark }) else {
      restless = 0
      guard let left = looksLeft else { return false }
      looksLeft = max(left - 1, 0)
      return left <= 1
    }
    if marks != marksBefore { restless += 1 }
    return marks == marksBefore || restless > Self.patience
  }
}

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
