import Foundation
import Glibc
import Synchronization
import Testing
import WeirIO
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// The thread that writes, before files, FIFOs and a full disk.
@Suite(.slow, .timeLimit(.minutes(5))) struct AccessLogWriterTests {
  /// A log without a gateway.
  final class Rig: Sendable {
    let log: AccessLog
    let counters: AccessLogCounters
    let notices = Notices()
    let directory: TemporaryDirectory

    final class Notices: Sendable {
      let all = Mutex<[AccessLogNotices.Notice]>([])
    }

    init(queue: AccessLogQueue = AccessLogQueue()) throws {
      let lines = try Registry().counter("lines_total", help: "Lines.", labels: "result")
      let counters = AccessLogCounters(
        written: lines.with("written"), sampledOut: lines.with("sampled_out"), dropped: lines.with("dropped"))
      self.counters = counters
      log = AccessLog(
        queue: queue, counters: { counters }, warn: { [notices] notice in notices.all.withLock { $0.append(notice) } })
      directory = try TemporaryDirectory()
    }

    var written: Int { Int(counters.written.value) }
    var dropped: Int { Int(counters.dropped.value) }
    var warnings: [AccessLogNotices.Notice] { notices.all.withLock { $0 } }

    @discardableResult
    func follow(_ path: String) throws -> AccessLogWriter {
      let change = try log.prepare(AccessLogSettings(to: .file(path)))
      log.commit(change)
      return try #require(change.writer)
    }
  }

  private static func add(_ range: Range<Int>, of source: Int = 0, width: Int = 100, to writer: AccessLogWriter) {
    let lines = range.map { "\(source) \($0) " + String(repeating: "x", count: width) + "\n" }.joined()
    Array(lines.utf8).withUnsafeBytes { writer.add($0, count: range.count) }
  }

  private static func lines(_ path: String) -> [Substring] {
    ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(
      separator: "\n", omittingEmptySubsequences: false
    )
    .dropLast()
  }

  /// A FIFO with a reader that reads when it is told to.
  final class FIFO {
    let path: String
    var descriptor: CInt = -1
    var text = ""

    init(in directory: TemporaryDirectory) throws {
      path = "\(directory.path)/fifo"
      try #require(mkfifo(path, 0o600) == 0)
    }

    func open() { descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) }

    func read() {
      var buffer = [UInt8](repeating: 0, count: 65536)
      while case let count = Glibc.read(descriptor, &buffer, buffer.count), count > 0 {
        text += String(decoding: buffer.prefix(count), as: UTF8.self)
      }
    }

    func close() {
      if descriptor >= 0 { Glibc.close(descriptor) }
      descriptor = -1
    }

    deinit { close() }
  }

  @Test func fiftyThousandLinesInASecondAreWritten() async throws {
    let rig = try Rig()
    let path = "\(rig.directory.path)/log"
    let writer = try rig.follow(path)
    // Two loops with 50 lines in every turn of 2 ms.
    await withTaskGroup { group in
      for source in 0..<2 {
        group.addTask {
          for turn in 0..<500 {
            Self.add(turn * 50..<turn * 50 + 50, of: source, width: 300, to: writer)
            // The queue has room for 8,192. On a busy machine the writer may need more than a second.
            #expect(await soon { rig.written + 6_000 >= turn * 100 })
            try? await letPass(0.001)
          }
        }
      }
    }
    await rig.log.finish(within: 10)
    #expect(rig.written == 50_000)
    #expect(rig.dropped == 0)
    let lines = Self.lines(path)
    #expect(lines.count == 50_000)
    for source in 0..<2 {
      let own = lines.filter { $0.hasPrefix("\(source) ") }.map { String($0.split(separator: " ")[1]) }
      #expect(own == (0..<25_000).map { String($0) })
    }
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 & ~0o640 == 0)
  }

  @Test func rotationLosesNoLine() async throws {
    let rig = try Rig()
    let path = "\(rig.directory.path)/log"
    let writer = try rig.follow(path)
    await withTaskGroup { group in
      group.addTask {
        for turn in 0..<400 {
          Self.add(turn * 10..<turn * 10 + 10, to: writer)
          try? await letPass(0.001)
        }
      }
      group.addTask {
        for number in 0..<20 {
          rename(path, "\(path).\(number)")
          try? rig.log.reopen()
          try? await letPass(0.015)
        }
      }
    }
    await rig.log.finish(within: 10)
    let parts = (0..<20).map { Self.lines("\(path).\($0)") } + [Self.lines(path)]
    let numbers = parts.flatMap(\.self).map { String($0.split(separator: " ")[1]) }
    #expect(numbers == (0..<4000).map { String($0) })
    #expect(parts.count { !$0.isEmpty } > 2)
    #expect(rig.written == 4000 && rig.dropped == 0)
  }

  @Test func aFullDiskDropsAndCounts() async throws {
    let rig = try Rig()
    let writer = try rig.follow("/dev/full")
    Self.add(0..<7, to: writer)
    #expect(eventually { rig.dropped == 7 })
    Self.add(7..<10, to: writer)
    #expect(eventually { rig.dropped == 10 })
    #expect(rig.written == 0)
    #expect(eventually { rig.warnings.first == .init(count: 7, reason: "No space left on device") })
    // The second warning waits for its minute, or the end.
    await rig.log.finish(within: 10)
    #expect(rig.warnings.map(\.count) == [7, 3])
  }

  /// A line that was torn by a full disk ends before the next one begins.
  @Test func aTornLineIsALineOfItsOwn() async throws {
    let rig = try Rig()
    let mounted = try rig.directory.directory("small")
    guard mount("tmpfs", mounted, "tmpfs", 0, "size=16k") == 0 else { return }
    defer { umount2(mounted, CInt(MNT_DETACH)) }
    let path = "\(mounted)/log"
    let writer = try rig.follow(path)
    Self.add(0..<200, to: writer)
    #expect(eventually { rig.written + rig.dropped == 200 })
    #expect(rig.written > 100 && rig.dropped > 10)
    let before = rig.written
    let torn = try String(contentsOfFile: path, encoding: .utf8)
    #expect(torn.last != "\n")
    // The disk has room again: the log is cut from outside, at a page that is in the middle of a line.
    #expect(truncate(path, 8192) == 0)
    Self.add(200..<203, to: writer)
    #expect(eventually { rig.written + rig.dropped == 203 })
    #expect(rig.written == before + 3)
    await rig.log.finish(within: 10)
    let lines = Self.lines(path)
    #expect(lines.suffix(3).map { $0.prefix(6) } == ["0 200 ", "0 201 ", "0 202 "])
    #expect(lines.dropLast(4).allSatisfy { $0.hasSuffix(" " + String(repeating: "x", count: 100)) })
  }

  @Test func aReaderThatStopsLosesWhatFindsNoRoom() async throws {
    let rig = try Rig(queue: AccessLogQueue(lines: 1000, bytes: 1 << 20))
    let fifo = try FIFO(in: rig.directory)
    fifo.open()
    let writer = try rig.follow(fifo.path)
    // A pipe has 64 KiB: the first lines are in it, and a thousand wait.
    for turn in 0..<300 {
      Self.add(turn * 10..<turn * 10 + 10, to: writer)
    }
    #expect(rig.dropped > 1000 && rig.dropped < 2500)
    #expect(eventually { rig.warnings.first?.reason == "the queue is full" })
    #expect(
      eventually {
        fifo.read()
        return rig.written + rig.dropped == 3000
      })
    fifo.read()
    // What came is whole lines, in order.
    var lines = fifo.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.popLast() == "")
    #expect(lines.count == rig.written)
    let numbers = lines.compactMap { Int($0.split(separator: " ")[1]) }
    #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
    #expect(lines.allSatisfy { $0.hasSuffix(" " + String(repeating: "x", count: 100)) })
    await rig.log.finish(within: 10)
  }

  @Test func aReaderThatIsGoneIsAwaited() async throws {
    let rig = try Rig()
    let fifo = try FIFO(in: rig.directory)
    // Nobody reads yet: that is no reason not to start.
    let writer = try rig.follow(fifo.path)
    Self.add(0..<1, to: writer)
    #expect(eventually { rig.dropped == 1 })
    #expect(eventually { rig.warnings.first == .init(count: 1, reason: "the FIFO has no reader") })
    fifo.open()
    var next = 1
    func addUntilWritten() {
      let before = rig.written
      #expect(
        eventually {
          Self.add(next..<next + 1, to: writer)
          next += 1
          letPass(0.05)
          return rig.written > before
        })
    }
    addUntilWritten()
    #expect(
      eventually {
        fifo.read(); return fifo.text.hasSuffix("x\n")
      })
    fifo.close()
    let dropped = rig.dropped
    Self.add(next..<next + 1, to: writer)
    next += 1
    #expect(eventually { rig.dropped == dropped + 1 })
    fifo.open()
    addUntilWritten()
    await rig.log.finish(within: 10)
    fifo.read()
    #expect(rig.written + rig.dropped == next)
    #expect(fifo.text.split(separator: "\n").allSatisfy { $0.hasSuffix(" " + String(repeating: "x", count: 100)) })
    #expect(!fifo.text.contains("\n\n"))
  }

  @Test func theEndDoesNotWaitForAReader() async throws {
    let rig = try Rig()
    let fifo = try FIFO(in: rig.directory)
    fifo.open()
    let writer = try rig.follow(fifo.path)
    for turn in 0..<20 { Self.add(turn * 100..<turn * 100 + 100, to: writer) }
    #expect(eventually { rig.dropped == 0 })
    let began = MonotonicTime.now
    await rig.log.finish(within: 0.2)
    #expect(MonotonicTime.now.seconds(since: began) < 5)
    #expect(eventually { rig.written + rig.dropped == 2000 })
    #expect(rig.dropped > 1000)
  }

  /// Lines of a reader that is behind go to the new file, and none is torn there.
  @Test func anotherPlaceTakesOver() async throws {
    let rig = try Rig()
    let fifo = try FIFO(in: rig.directory)
    fifo.open()
    let writer = try rig.follow(fifo.path)
    for turn in 0..<20 { Self.add(turn * 100..<turn * 100 + 100, to: writer) }
    try await letPass(0.1)
    let path = "\(rig.directory.path)/log"
    try rig.follow(path)
    await rig.log.finish(within: 10)
    #expect(rig.written == 2000 && rig.dropped == 0)
    fifo.read()
    let lines = Self.lines(path)
    #expect(lines.last?.hasPrefix("0 1999 ") == true)
    #expect(lines.allSatisfy { $0.hasSuffix(" " + String(repeating: "x", count: 100)) })
    #expect(Set(lines.map { $0.split(separator: " ")[1] }).count == lines.count)
    #expect(lines.count + fifo.text.count { $0 == "\n" } == 2000)
  }

  /// However many places come before the thread looks, a line is written to the one that it was added for.
  @Test func eachLineGoesToThePlaceOfItsTime() async throws {
    let rig = try Rig()
    let paths = ["even", "odd"].map { "\(rig.directory.path)/\($0)" }
    for number in 0..<400 {
      let writer = try rig.follow(paths[number % 2])
      Self.add(number..<number + 1, to: writer)
      if number % 3 == 0 { rig.log.commit(try rig.log.prepare(nil)) }
    }
    await rig.log.finish(within: 10)
    #expect(rig.written == 400 && rig.dropped == 0)
    for path in paths {
      let numbers = Self.lines(path).compactMap { Int($0.split(separator: " ")[1]) }
      let first = path.hasSuffix("odd") ? 1 : 0
      #expect(numbers == Array(stride(from: first, to: 400, by: 2)))
    }
  }

  @Test func aPlaceThatCannotBeOpenedChangesNothing() async throws {
    let rig = try Rig()
    let path = "\(rig.directory.path)/log"
    let writer = try rig.follow(path)
    let missing = "\(rig.directory.path)/missing/log"
    let error = #expect(throws: AccessLogProblem.self) {
      _ = try rig.log.prepare(AccessLogSettings(to: .file(missing)))
    }
    #expect(error?.description == "accessLog.to: \(missing) can't be opened: No such file or directory")
    Self.add(0..<1, to: writer)
    await rig.log.finish(within: 10)
    #expect(Self.lines(path).count == 1)
  }
}
