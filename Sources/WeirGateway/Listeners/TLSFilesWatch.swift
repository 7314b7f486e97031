import Synchronization
import WeirIO
import WeirTLS

/// Keeps the TLS of a listener up to date with its files: looks at them every ten seconds, and when it is asked to.
final class TLSFilesWatch: Sendable {
  /// The outcome of new content in the files. Content that is refused is reported once.
  enum Event: Equatable {
    /// New connections follow it.
    case followed
    /// It can't be used, for the reason in words, and everything stays as it was.
    case refused(String)
  }

  private struct State {
    var files: TLSFiles
    var history: TLSFilesHistory
  }

  let source: TLSSource
  private let state: Mutex<State>
  private let report: @Sendable (Event) -> Void
  private let looks = Mutex<Task<Void, Never>?>(nil)

  /// Reads the files.
  ///
  /// - Parameters:
  ///   - previous: The TLS that this one replaces.
  ///   - observer: Called for each handshake that has ended, on the loop of its connection.
  ///   - report: Called by looks, when there is new content.
  init(
    _ files: TLSFiles, after previous: TLSSource? = nil,
    observer: @escaping @Sendable (TLSHandshake) -> Void = { _ in },
    report: @escaping @Sendable (Event) -> Void
  ) throws(TLSFilesProblem) {
    let marks = files.paths.map(FileMark.init(ofFile:)), bytes = try files.read()
    let settings = try files.settings(of: bytes)
    do {
      source = try TLSSource(settings, after: previous, observer: observer)
    } catch {
      throw files.problem(error)
    }
    state = Mutex(State(files: files, history: TLSFilesHistory(marks: marks, judged: .bytes(bytes))))
    self.report = report
  }

  deinit { stop() }

  /// Begins to look at the files, until `stop` or the end of this object.
  func start(every interval: Duration = .seconds(10)) {
    let task = Task { [weak self] in
      while (try? await Task.sleep(for: interval)) != nil, let self { self.look() }
    }
    looks.withLock { old in
      old?.cancel()
      old = task
    }
  }

  func stop() {
    looks.withLock { task in
      task?.cancel()
      task = nil
    }
  }

  /// Has new connections follow the files if these have changed.
  func look() {
    // The lock keeps an older look from undoing a newer one. Nothing else waits for it.
    if let event = state.withLock({ Self.look(&$0, source) }) { report(event) }
  }

  /// Has new connections follow other files, or the same with other settings. Throws, and changes nothing, if they
  /// can't be used.
  func follow(_ files: TLSFiles) throws(TLSFilesProblem) {
    try state.withLock { state throws(TLSFilesProblem) in
      let marks = files.paths.map(FileMark.init(ofFile:)), bytes = try files.read()
      try Self.follow(files, bytes, source)
      state = State(files: files, history: TLSFilesHistory(marks: marks, judged: .bytes(bytes)))
    }
  }

  private static func follow(
    _ files: TLSFiles, _ bytes: [[UInt8]], _ source: TLSSource
  ) throws(TLSFilesProblem) {
    let settings = try files.settings(of: bytes)
    do {
      try source.follow(settings)
    } catch {
      throw files.problem(error)
    }
  }

  private static func look(_ state: inout State, _ source: TLSSource) -> Event? {
    let files = state.files
    let before = files.paths.map(FileMark.init(ofFile:))
    guard state.history.wantsReading(before) else { return nil }
    let content: TLSFilesHistory.Content
    do throws(TLSFilesProblem) {
      content = .bytes(try files.read())
    } catch {
      content = .unreadable(error)
    }
    let after = files.paths.map(FileMark.init(ofFile:))
    guard state.history.note(content, before: before, after: after) else { return nil }
    do throws(TLSFilesProblem) {
      switch content {
      case .bytes(let bytes): try follow(files, bytes, source)
      case .unreadable(let problem): throw problem
      }
      return .followed
    } catch {
      return .refused(error.description)
    }
  }
}
