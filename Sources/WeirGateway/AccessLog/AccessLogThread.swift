import Glibc
import WeirHTTP
import WeirIO
import WeirMetrics

/// The thread of an access log, which takes lines and writes them. Confined to that thread.
final class AccessLogThread {
  /// Seconds between two looks at the queue while lines come. So the thread is woken seldom, and writes many lines at
  /// once.
  private static let nap = 0.02
  /// Seconds until a place that could not be opened is tried again.
  private static let patience = 1.0

  private let writer: AccessLogWriter
  private var place = AccessLogWriter.Place()
  private var notices = AccessLogNotices()
  private var reason = ""
  /// Whether a line was begun that could not be written to its end. Then the next one begins with a line feed.
  private var isMidLine = false
  /// Whether a place came while lines could not be written, since it was set to false.
  private var isMoved = false
  private var retryAt = MonotonicTime(nanoseconds: 0)
  /// When the thread has to end; nil while it has not.
  private var end: MonotonicTime?

  init(_ writer: AccessLogWriter) {
    self.writer = writer
  }

  func run() {
    var buffer: [UInt8] = []
    while true {
      writer.wakeup.silence()
      let turn = writer.takeTurn(into: &buffer)
      note(turn.dropped)
      end = turn.end
      buffer.withUnsafeBytes { write($0, turn) }
      if turn.lines > 0 { writer.settle() }
      let isLast = end != nil && turn.lines == 0
      if let notice = notices.due(at: .now, isLast: isLast) { writer.warn(notice) }
      if isLast { break }
      if end == nil, turn.successors.isEmpty { wait(isBusy: turn.lines > 0) }
    }
    place.output = nil
    writer.noteOver()
  }

  private func wait(isBusy: Bool) {
    let next = notices.next ?? .distantFuture
    writer.wakeup.wait(until: isBusy ? MonotonicTime.now.advanced(bySeconds: Self.nap) : next)
  }

  private func note(_ dropped: Int) { notices.note(dropped, because: "the queue is full") }

  private func follow(_ successor: AccessLogWriter.Place) {
    let isSame = successor.target == place.target && (successor.output?.hasContent ?? false)
    isMidLine = isMidLine && isSame
    place = successor
    retryAt = MonotonicTime(nanoseconds: 0)
  }

  // MARK: Writing

  /// Writes the lines of a turn, each to its place.
  private func write(_ bytes: UnsafeRawBufferPointer, _ turn: AccessLogWriter.Turn) {
    var done = (lines: 0, bytes: 0)
    isMoved = false
    for next in turn.successors {
      write(bytes.octets(done.bytes..<next.before.bytes), next.before.lines - done.lines)
      done = next.before
      // While a reader was behind, a newer place may have come, which takes all that is left.
      if isMoved { break }
      follow(next.place)
    }
    write(bytes.octets(done.bytes..<bytes.count), turn.lines - done.lines)
  }

  /// Writes lines, or drops and counts those that can't be written.
  private func write(_ bytes: UnsafeRawBufferPointer, _ lines: Int) {
    guard lines > 0 else { return }
    var done = 0
    if opens(), !isMidLine || endsLine() {
      isMidLine = false
      done = put(bytes)
      if done > 0 { isMidLine = bytes[done - 1] != .lineFeed }
    }
    let written = done == bytes.count ? lines : bytes.octets(0..<done).count { $0 == .lineFeed }
    writer.counters.written.increment(by: written)
    guard written < lines else { return }
    writer.counters.dropped.increment(by: lines - written)
    notices.note(lines - written, because: reason)
  }

  /// Whether there is a place to write to.
  private func opens() -> Bool {
    if place.output != nil { return true }
    guard let target = place.target else {
      reason = "the log is off"
      return false
    }
    let now = MonotonicTime.now
    guard now >= retryAt else { return false }
    retryAt = now.advanced(bySeconds: Self.patience)
    do throws(AccessLogProblem) {
      place.output = try AccessLogOutput.open(target)
      reason = "the FIFO has no reader"
    } catch {
      reason = error.error.description
    }
    isMidLine = false
    return place.output != nil
  }

  /// Ends a line that is torn. Returns false if that can't be done either.
  private func endsLine() -> Bool {
    let feed: [UInt8] = [.lineFeed]
    return feed.withUnsafeBytes { put($0, isFeed: true) } == 1
  }

  /// Writes bytes, and waits for a reader that is behind. Returns how many were written: fewer only if the rest can't be.
  private func put(_ bytes: UnsafeRawBufferPointer, isFeed: Bool = false) -> Int {
    var done = 0
    while done < bytes.count, let output = place.output {
      switch output.write(bytes.octets(done..<bytes.count)) {
      case .wrote(let count): done += count
      case .failed(let error):
        reason = error.description
        // A FIFO whose reader has left may have another one later.
        if error == .brokenPipe, case .file = place.target { place.output = nil }
        return done
      case .blocked:
        switch wait(for: output) {
        case .goOn: break
        case .giveUp: return done
        case .moved:
          if isFeed { return bytes.count }
          // The line that was torn goes to the new place as a whole.
          done = bytes.octets(0..<done).lastIndex(of: .lineFeed).map { $0 + 1 } ?? 0
          guard opens() else { return done }
        }
      }
    }
    return done
  }

  private enum Pause { case goOn, giveUp, moved }

  private func wait(for output: AccessLogOutput) -> Pause {
    let due = MonotonicTime.now.advanced(bySeconds: Self.patience)
    writer.wakeup.wait(orWriting: output.descriptor, until: min(due, notices.next ?? due, end ?? due))
    writer.wakeup.silence()
    let turn = writer.lookMeanwhile()
    note(turn.dropped)
    end = turn.end
    let now = MonotonicTime.now
    if let notice = notices.due(at: now) { writer.warn(notice) }
    if let successor = turn.successors.last {
      follow(successor.place)
      isMoved = true
      return .moved
    }
    guard let end, now >= end else { return .goOn }
    reason = "the log's reader is behind at the end"
    return .giveUp
  }
}

/// An open place for lines. Closed when it is let go.
final class AccessLogOutput: Sendable {
  /// The result of one step of writing.
  enum Step {
    case wrote(Int)
    /// The reader is behind; the descriptor tells when it takes more.
    case blocked
    case failed(Errno)
  }

  let descriptor: CInt
  private let isOwn: Bool
  /// Whether it may be a pipe: then a write has whole lines, as many as a pipe takes in one piece, so that those of
  /// several writers don't mix and none is torn when the reader is behind.
  private let isPipe: Bool

  /// Opens the target. A FIFO that nobody reads is nil: it may have a reader later.
  static func open(_ target: AccessLogSettings.Target) throws(AccessLogProblem) -> AccessLogOutput? {
    switch target {
    case .standardError: return AccessLogOutput(STDERR_FILENO)
    case .standardOutput: return AccessLogOutput(STDOUT_FILENO)
    case .file(let path):
      do throws(Errno) {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY
        return AccessLogOutput(try FileSystem.open(path, flags, permissions: 0o640), isOwn: true)
      } catch {
        if error.rawValue == ENXIO, isFIFO(path) { return nil }
        throw AccessLogProblem(target: target, error: error)
      }
    }
  }

  private init(_ descriptor: CInt, isOwn: Bool = false) {
    self.descriptor = descriptor
    self.isOwn = isOwn
    isPipe = (try? FileSystem.status(of: descriptor)).map { $0.kind != .regular } ?? false
  }

  deinit {
    if isOwn { FileSystem.close(descriptor) }
  }

  private static func isFIFO(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  /// Whether it is a file that holds something already.
  var hasContent: Bool { ((try? FileSystem.status(of: descriptor))?.size ?? 0) > 0 }

  /// Writes as much as goes without waiting for a reader. It may wait for a disk.
  func write(_ bytes: UnsafeRawBufferPointer) -> Step {
    var count = bytes.count
    if isPipe {
      // Others share a descriptor that is not ours, and decide whether a write waits.
      var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      if !isOwn, poll(&ready, 1, 0) != 1 { return .blocked }
      if count > Self.pipePiece {
        count = bytes.prefix(Self.pipePiece).lastIndex(of: 0x0a).map { $0 + 1 } ?? Self.pipePiece
      }
    }
    do throws(Errno) {
      let written = try systemCall { Glibc.write(descriptor, bytes.baseAddress, count) }
      return written > 0 ? .wrote(written) : .failed(Errno(rawValue: EIO))
    } catch {
      return error.rawValue == EAGAIN ? .blocked : .failed(error)
    }
  }

  /// The bytes that a pipe takes in one piece (PIPE_BUF).
  private static let pipePiece = 4096
}

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
