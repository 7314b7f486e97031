import Synchronization
package import WeirIO

/// Keeps the TLS of a listener up to date with its files: looks at them every ten seconds, and when it is asked to.
///
/// The looks are made by a thread of their own, because a file system may keep its callers waiting.
package final class TLSFilesWatch: Sendable {
  /// The outcome of new content in the files. Content that is refused is reported once.
  package enum Event: Equatable {
    /// New connections follow it.
    case followed
    /// It can't be used, for the reason in words, and everything stays as it was.
    case refused(String)
  }

  private struct State {
    var files: TLSFiles
    var history: TLSFilesHistory
    /// The number of changes, by which a look that took long learns that what it has read may be out of date.
    var changes = 0
  }

  package let source: TLSSource
  private let state: Mutex<State>
  private let mark: FileMark.Reader
  private let worker = WorkerPool(name: "weir.files", width: 1, idleTime: 0)
  private let report: @Sendable (Event) -> Void
  private let looks = Mutex<Task<Void, Never>?>(nil)

  /// Reads the files.
  ///
  /// - Parameters:
  ///   - previous: The TLS that this one replaces, whose ticket keys stay good if they may.
  ///   - mark: Called before and after files are read.
  ///   - observer: Called for each handshake that has ended, on the loop of its connection.
  ///   - report: Called by looks, when there is new content.
  package init(
    _ files: TLSFiles, after previous: TLSSource? = nil,
    mark: @escaping FileMark.Reader = { FileMark(ofFile: $0) },
    observer: @escaping @Sendable (TLSHandshake) -> Void = { _ in },
    report: @escaping @Sendable (Event) -> Void
  ) throws(TLSFilesProblem) {
    let marks = files.paths.map(mark), bytes = try files.read()
    source = TLSSource(try files.context(of: bytes, after: previous?.current), observer: observer)
    state = Mutex(State(files: files, history: TLSFilesHistory(marks: marks, judged: .bytes(bytes))))
    self.mark = mark
    self.report = report
  }

  deinit { stop() }

  /// Begins to look at the files, until `stop` or the end of this object.
  package func start(every interval: Duration = .seconds(10)) {
    let task = Task { [weak self] in
      while (try? await Task.sleep(for: interval)) != nil, let self {
        // There is one look at a time: none waits behind one that a file system holds.
        _ = self.worker.submit(unlessWaiting: 0) { [weak self] in self?.look() }
      }
    }
    looks.withLock { old in
      old?.cancel()
      old = task
    }
  }

  package func stop() {
    looks.withLock { task in
      task?.cancel()
      task = nil
    }
  }

  /// Has new connections follow the files if these have changed.
  package func look() {
    // Not under the lock, which a reload takes too.
    let known = state.withLock { $0 }
    let before = known.files.paths.map(mark)
    guard known.history.wantsReading(before) else { return }
    let content: TLSFilesHistory.Content
    do throws(TLSFilesProblem) {
      content = .bytes(try known.files.read())
    } catch {
      content = .unreadable(error)
    }
    let after = known.files.paths.map(mark)
    let event = state.withLock { state -> Event? in
      // An older look undoes no newer one, and no reload.
      guard state.changes == known.changes else { return nil }
      return Self.judge(content, before, after, &state, source)
    }
    if let event { report(event) }
  }

  /// Files that were read, and can be used.
  package struct Change: Sendable {
    fileprivate let files: TLSFiles
    fileprivate let history: TLSFilesHistory
    fileprivate let context: TLSServerContext
  }

  /// Reads other files, or the same for other settings. Throws if they can't be used.
  package func prepare(_ files: TLSFiles) throws(TLSFilesProblem) -> Change {
    let marks = files.paths.map(mark), bytes = try files.read()
    return Change(
      files: files, history: TLSFilesHistory(marks: marks, judged: .bytes(bytes)),
      context: try files.context(of: bytes, after: source.current))
  }

  /// Has new connections follow the files.
  package func follow(_ change: Change) {
    state.withLock { state in
      source.follow(change.context)
      state.files = change.files
      state.history = change.history
      state.changes += 1
    }
  }

  private static func judge(
    _ content: TLSFilesHistory.Content, _ before: [FileMark?], _ after: [FileMark?], _ state: inout State,
    _ source: TLSSource
  ) -> Event? {
    guard state.history.note(content, before: before, after: after) else { return nil }
    state.changes += 1
    do throws(TLSFilesProblem) {
      switch content {
      case .bytes(let bytes): source.follow(try state.files.context(of: bytes, after: source.current))
      case .unreadable(let problem): throw problem
      }
      return .followed
    } catch {
      return .refused(error.description)
    }
  }
}

/// Decides at each look at files whether they are to be read, and whether there is anything new in them. A value.
struct TLSFilesHistory: Equatable {
  /// The result of reading all files.
  enum Content: Equatable {
    case bytes([[UInt8]])
    case unreadable(TLSFilesProblem)
  }

  /// The files' marks when they were read last; nil for a file that was not there.
  private(set) var marks: [FileMark?]
  /// The content that was judged last, good or bad.
  private(set) var judged: Content

  /// Files that could not be read are read again even if they look the same, since new permissions leave no mark.
  func wantsReading(_ marks: [FileMark?]) -> Bool {
    if case .unreadable = judged { true } else { marks != self.marks }
  }

  /// Notes what was read. Returns whether the content is new, and so to be judged.
  ///
  /// - Parameters:
  ///   - before: The marks before reading.
  ///   - after: The marks after it. Files that change meanwhile are read again at the next look.
  mutating func note(_ content: Content, before: [FileMark?], after: [FileMark?]) -> Bool {
    guard before == after else { return false }
    marks = after
    guard content != judged else { return false }
    judged = content
    return true
  }
}
