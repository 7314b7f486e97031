import WeirHTTP
import WeirIO
import WeirMetrics

/// The work of an access log's thread: takes lines, and writes them. Confined to the thread.
final class AccessLogPen {
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
      var successor = turn.successor
      // Lines that came while there was no place are for the first one.
      if place.target == nil, let first = successor {
        follow(first)
        successor = nil
      }
      if turn.lines > 0 {
        buffer.withUnsafeBytes { write($0, turn.lines) }
        writer.settle()
      }
      if let successor { follow(successor) }
      let isLast = end != nil && turn.lines == 0
      if let notice = notices.due(at: .now, isLast: isLast) { writer.warn(notice) }
      if isLast { break }
      if end == nil, turn.successor == nil { wait(isBusy: turn.lines > 0) }
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

  /// Writes lines, or drops and counts those that can't be written.
  private func write(_ bytes: UnsafeRawBufferPointer, _ lines: Int) {
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
    do {
      place.output = try AccessLogOutput.open(target)
      reason = "the FIFO has no reader"
    } catch {
      reason = error.description
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
        if error == .brokenPipe, case .file = output.target { place.output = nil }
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
    if let successor = turn.successor {
      follow(successor)
      return .moved
    }
    guard let end, now >= end else { return .goOn }
    reason = "the log's reader is behind at the end"
    return .giveUp
  }
}
