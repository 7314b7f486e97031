import Glibc
import Synchronization
import WeirHTTP
import WeirIO

/// A file that holds a secret, such as an API key that Kubernetes mounts or an agent writes. It is read when this object
/// is made, and followed from then on: new content is in force within two seconds.
///
/// The content is what a header field's value may be, of at most 64 KiB; one line end behind it is dropped. Content counts
/// once the file has looked the same for half a second. A file that is gone or wrong later changes nothing: the last good
/// value stays. It prints its path alone. May be used on any thread.
public final class SecretFile: Sendable {
  /// Why a file can't be used, without any of its content.
  public struct Problem: Error, Hashable, CustomStringConvertible {
    /// The path of the file.
    public let path: String
    /// The reason in words that follow the path.
    public let reason: String

    public var description: String { "\(path) \(reason)" }
  }

  private struct State {
    var octets: [UInt8]
    var history: SecretFileHistory
    /// When a problem was reported last.
    var reported: MonotonicTime?
    /// When new content was reported last.
    var renewed: MonotonicTime?
    var report: (@Sendable (Problem?) -> Void)?
  }

  /// The most bytes of a file.
  static let mostBytes = 64 << 10
  /// Seconds between two reports of a problem.
  static let reportInterval = 60.0

  /// The absolute path of the file, or of a link to it.
  public let path: String
  private let mark: FileMark.Reader
  private let state: Mutex<State>
  private let changes = Atomic<UInt64>(1)

  /// Reads the file. Throws if it holds no secret that can be used.
  public convenience init(_ path: String) throws(Problem) {
    try self.init(path, mark: { FileMark(ofFile: $0) })
    SecretFileLooks.add(self)
  }

  /// The same for tests, which look at the file themselves.
  init(_ path: String, mark: @escaping FileMark.Reader) throws(Problem) {
    let seen = mark(path)
    state = Mutex(State(octets: try Self.read(path), history: SecretFileHistory(seen)))
    self.path = path
    self.mark = mark
  }

  /// The present content, without a line end. Octets that are not UTF-8 are replaced.
  public var value: String { String(decoding: octets, as: UTF8.self) }

  /// The present content, without a line end.
  package var octets: [UInt8] { state.withLock { $0.octets } }

  /// A number that changes with the content. What is read after it is at least as new.
  package var version: UInt64 { changes.load(ordering: .acquiring) }

  /// The reason why an older value is in force; nil if the file's content is.
  package var problem: Problem? { state.withLock { $0.history.problem } }

  /// Has new content reported, with nil, and problems as long as they last, each once a minute at most; by a thread of
  /// this process.
  package func report(_ report: (@Sendable (Problem?) -> Void)?) { state.withLock { $0.report = report } }

  /// Looks at the file, and takes new content that has come to rest.
  func look(at now: MonotonicTime = .now) {
    let seen = mark(path)
    guard state.withLock({ $0.history.wantsReading(seen) }) else { return reportProblem(at: now) }
    var octets: [UInt8]?
    var problem: Problem?
    do throws(Problem) {
      octets = try Self.read(path)
    } catch {
      problem = error
    }
    let after = mark(path)
    let report = state.withLock { state -> (@Sendable (Problem?) -> Void)? in
      guard state.history.note(problem, before: seen, after: after), let octets, octets != state.octets else {
        return nil
      }
      state.octets = octets
      changes.add(1, ordering: .releasing)
      if let last = state.renewed, now.seconds(since: last) < Self.reportInterval { return nil }
      state.renewed = now
      return state.report
    }
    report?(nil)
    reportProblem(at: now)
  }

  private func reportProblem(at now: MonotonicTime) {
    let due = state.withLock { state -> (@Sendable (Problem?) -> Void, Problem)? in
      guard let problem = state.history.problem else {
        state.reported = nil
        return nil
      }
      if let last = state.reported, now.seconds(since: last) < Self.reportInterval { return nil }
      guard let report = state.report else { return nil }
      state.reported = now
      return (report, problem)
    }
    if let (report, problem) = due { report(problem) }
  }

  private static func read(_ path: String) throws(Problem) -> [UInt8] {
    guard path.hasPrefix("/") else { throw Problem(path: path, reason: "is no absolute path") }
    var octets: [UInt8]
    do throws(SmallFile.Failure) {
      octets = try SmallFile.bytes(of: path, limit: mostBytes + 3)
    } catch {
      throw Problem(path: path, reason: error.text)
    }
    if octets.last == .lineFeed {
      octets.removeLast()
      if octets.last == .carriageReturn { octets.removeLast() }
    }
    if let reason = problem(of: octets) { throw Problem(path: path, reason: reason) }
    return octets
  }

  private static func problem(of octets: [UInt8]) -> String? {
    if octets.isEmpty { return "is empty" }
    if octets.count > mostBytes { return "is larger than 64 KiB" }
    if octets.starts(with: [0xEF, 0xBB, 0xBF]) { return "begins with a byte order mark; save it as UTF-8 without one" }
    if FieldSyntax.isValue(octets) { return nil }
    return octets.allSatisfy(\.isFieldContent)
      ? "begins or ends with a blank" : "holds a control character, such as a second line end"
  }
}

extension SecretFile: CustomStringConvertible, CustomReflectable {
  /// The path.
  public var description: String { path }

  public var customMirror: Mirror { Mirror(self, children: ["path": path]) }
}

/// Decides at each look at a secret's file whether it is to be read. A value.
///
/// New content counts once the file's mark was the same at two looks, and before and after reading. A file that could not
/// be used is read again at each look, since new permissions of its folder leave no mark.
struct SecretFileHistory {
  /// The mark of the content that was judged last; nil for a file that was gone.
  private var judged: FileMark?
  /// The mark at the look before this one.
  private var before: FileMark?
  /// The reason why the file can't be used now.
  private(set) var problem: SecretFile.Problem?

  /// - Parameter mark: The mark from before the first reading.
  init(_ mark: FileMark?) {
    judged = mark
    before = mark
  }

  /// Whether the file is to be read now.
  ///
  /// - Parameter mark: What the file looks like at this look; nil if it is gone.
  mutating func wantsReading(_ mark: FileMark?) -> Bool {
    defer { before = mark }
    return mark == before && (mark != judged || problem != nil)
  }

  /// Notes what reading gave. Returns whether that counts.
  ///
  /// - Parameter found: What is wrong with the content; nil if nothing is.
  mutating func note(_ found: SecretFile.Problem?, before: FileMark?, after: FileMark?) -> Bool {
    guard before == after else { return false }
    judged = after
    problem = found
    return true
  }
}

/// Looks at all files that are followed, twice a second. A thread of their own does it, because a file system may keep
/// its callers waiting.
private enum SecretFileLooks {
  private struct Followed {
    weak var file: SecretFile?
  }

  private struct State {
    var files: [Followed] = []
    var isRunning = false
  }

  private static let state = Mutex(State())

  static func add(_ file: SecretFile) {
    let begins = state.withLock { state in
      state.files.append(Followed(file: file))
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard begins else { return }
    do throws(Errno) {
      try startDetachedThread(name: "weir.secrets", run)
    } catch {
      // The next file tries again.
      state.withLock { $0.isRunning = false }
    }
  }

  @Sendable private static func run() {
    while true {
      // No signal is delivered to this thread and cuts the pause short.
      var pause = timespec(tv_sec: 0, tv_nsec: 500_000_000)
      nanosleep(&pause, nil)
      let files = state.withLock { state -> [SecretFile]? in
        state.files.removeAll { $0.file == nil }
        if state.files.isEmpty { state.isRunning = false }
        return state.files.isEmpty ? nil : state.files.compactMap(\.file)
      }
      guard let files else { return }
      for file in files { file.look() }
    }
  }
}
