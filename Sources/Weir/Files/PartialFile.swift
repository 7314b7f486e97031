import Glibc
import Synchronization
import WeirIO

/// The file that a body is written to. Its methods wait for the disk, so they are called on the download's lane, one
/// after another.
///
/// The file is recognized by its identity. If other processes put something else under its name, that is never written,
/// moved or removed.
final class PartialFile: Sendable {
  private struct State {
    var descriptor: CInt?
    /// Nil before the file was made, and after it was removed.
    var identity: FileStatus.Identity?
    var path: String
    /// The offset at which writing continues in a resumed file; nil once that offset has been used.
    var start: Int64?
    /// Whether the file was removed; it is not made again.
    var isGone = false
  }

  let name: String
  private let directory: PartialDirectory
  private let state: Mutex<State>

  private static let prefix = "download-"

  /// A name for a file that is made when the first bytes are written.
  init(in directory: PartialDirectory) {
    name = Self.prefix + String(format: "%016lx%016lx", UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
    self.directory = directory
    state = Mutex(State(path: directory.path(of: name)))
  }

  /// The file that resume data names, if it was made here and is at least as long as they say. Bytes beyond that were
  /// added by a later download. Runs on a worker.
  init(resuming data: ResumeData, in directory: PartialDirectory) throws(FileProblem) {
    name = data.fileName
    self.directory = directory
    state = Mutex(try Self.open(data, in: directory))
  }

  deinit {
    if let descriptor = state.withLock({ $0.descriptor }) { FileSystem.close(descriptor) }
  }

  /// The file's present place.
  var url: URL { URL(filePath: state.withLock { $0.path }, directoryHint: .notDirectory) }

  static func isName(_ text: String) -> Bool {
    let octets = text.utf8
    guard text.hasPrefix(prefix), octets.count == prefix.utf8.count + 32 else { return false }
    return octets.dropFirst(prefix.utf8.count).allSatisfy { $0.isLowerHexDigit }
  }

  /// Whether another download holds the file's lock. Runs on a worker.
  static func isHeld(_ data: ResumeData, in directory: PartialDirectory) -> Bool {
    do throws(FileProblem) {
      if let descriptor = try open(data, in: directory).descriptor { FileSystem.close(descriptor) }
      return false
    } catch {
      return error.errno == .wouldBlock
    }
  }

  private static func open(
    _ data: ResumeData, in directory: PartialDirectory
  ) throws(FileProblem) -> State {
    let name = data.fileName
    guard isName(name) else { throw FileProblem(name, .noSuchFile) }
    do throws(FileProblem) {
      return try directory.search { (parent, path) throws(Errno) in try open(data, in: parent, path) }
    } catch {
      switch error.errno {
      case .wouldBlock: throw FileProblem(name, error.errno, "another download is using it")
      case .invalidArgument: throw FileProblem(name, error.errno, "it is not the file that the download left")
      default: throw error
      }
    }
  }

  private static func open(_ data: ResumeData, in parent: CInt, _ path: String) throws(Errno) -> State {
    // `O_NONBLOCK`: opening a named pipe would otherwise wait for a writer.
    let descriptor = try FileSystem.open(data.fileName, O_RDWR | O_NOFOLLOW | O_NONBLOCK, in: parent)
    do throws(Errno) {
      try FileSystem.lock(descriptor)
      let status = try FileSystem.status(of: descriptor)
      guard status.kind == .regular, status.owner == geteuid(), status.size >= data.offset else {
        throw Errno.invalidArgument
      }
      return State(
        descriptor: descriptor, identity: status.identity, path: "\(path)/\(data.fileName)", start: data.offset)
    } catch {
      FileSystem.close(descriptor)
      throw error
    }
  }

  // MARK: On the lane

  /// Makes the file if it is not yet made.
  func make() throws(FileProblem) {
    _ = try descriptor()
  }

  func write(_ bytes: [UInt8]) throws(FileProblem) {
    let descriptor = try descriptor()
    let start = state.withLock { $0.start.take() }
    let failure = bytes.withUnsafeBytes { bytes -> Errno? in
      do throws(Errno) {
        if let start {
          try FileSystem.truncate(descriptor, to: start)
          try FileSystem.seekToEnd(descriptor)
        }
        try FileSystem.write(bytes, to: descriptor)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw FileProblem(directory.path, failure) }
  }

  /// Cuts off the bytes that are not known to be written, and closes the file.
  func leave(at size: Int64) {
    if let descriptor = state.withLock({ $0.descriptor }) { try? FileSystem.truncate(descriptor, to: size) }
    close()
  }

  /// Closes the file; others may resume it then.
  func close() {
    if let descriptor = takeDescriptor() { FileSystem.close(descriptor) }
  }

  /// Removes the file, also after it has been moved.
  func remove() {
    close()
    let (path, identity) = state.withLock { state in
      state.isGone = true
      defer { state.identity = nil }
      return (state.path, state.identity)
    }
    guard let identity, (try? FileSystem.status(ofFile: path))?.identity == identity else { return }
    try? FileSystem.remove(path)
  }

  /// Moves the file to its final place and returns its size, if that can be read. A file that can't be moved is
  /// removed.
  func move(to destination: URL, makingDirectories: Bool, replacing: Bool) throws(FileProblem) -> Int64? {
    do throws(FileProblem) {
      let path = state.withLock { $0.path }
      if let descriptor = takeDescriptor() {
        do throws(Errno) {
          try FileSystem.closeWritten(descriptor)
        } catch {
          throw FileProblem(path, error)
        }
      }
      let target = try FileMover(path, destination).move(makingDirectories: makingDirectories, replacing: replacing)
      let status = try? FileSystem.status(ofFile: target, followsLink: true)
      state.withLock { state in
        state.path = target
        state.identity = status?.identity
      }
      return status?.size
    } catch {
      remove()
      throw error
    }
  }

  private func takeDescriptor() -> CInt? {
    state.withLock { $0.descriptor.take() }
  }

  private func descriptor() throws(FileProblem) -> CInt {
    let (known, isGone) = state.withLock { ($0.descriptor, $0.isGone) }
    if let known { return known }
    if isGone { throw FileProblem(directory.path, .noSuchFile, "the file was removed") }
    let (parent, path) = try directory.make()
    defer { FileSystem.close(parent) }
    do throws(Errno) {
      let descriptor = try FileSystem.open(
        name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, permissions: 0o600, in: parent)
      // The lock prevents resuming a file that is still being written.
      try? FileSystem.lock(descriptor)
      let identity = try? FileSystem.status(of: descriptor).identity
      state.withLock { state in
        state.descriptor = descriptor
        state.identity = identity
        state.path = "\(path)/\(name)"
      }
      return descriptor
    } catch {
      throw FileProblem(directory.path, error)
    }
  }
}

extension UInt8 {
  fileprivate var isLowerHexDigit: Bool { (0x30...0x39).contains(self) || (0x61...0x66).contains(self) }
}

/// The file operations of one download. The session's workers run them one after another, in the order given.
final class FileLane: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State {
    var waiting = Deque<Job>()
    var isRunning = false
  }

  private let workers: WorkerPool
  private let state = Mutex(State())

  init(workers: WorkerPool) {
    self.workers = workers
  }

  func submit(_ job: @escaping Job) {
    let isFirst = state.withLock { state in
      state.waiting.append(job)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if isFirst { workers.submit { self.runNext() } }
  }

  /// Runs one job, then queues behind other lanes that wait for a worker.
  private func runNext() {
    if let job = state.withLock({ $0.waiting.popFirst() }) { job() }
    let isDone = state.withLock { state in
      state.isRunning = !state.waiting.isEmpty
      return state.waiting.isEmpty
    }
    if !isDone { workers.submit { self.runNext() } }
  }
}
