import Glibc
import Synchronization
import Testing

@testable import WeirGateway

@Suite struct LoggerTests {
  @Test(arguments: LogLevel.allCases)
  func writesItsLevelAndAbove(level: LogLevel) {
    let written = Lines()
    let logger = Logger(level: level, format: .logfmt) { line in
      written.lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    logger.debug("m", [:])
    logger.info("m", [:])
    logger.warn("m", [:])
    logger.error("m", [:])
    let expected = LogLevel.allCases.filter { $0 >= level }
    let lines = written.lines.withLock { $0 }
    #expect(lines.count == expected.count)
    for (line, level) in zip(lines, expected) { #expect(line.hasSuffix(" level=\(level.rawValue) msg=m\n")) }
  }

  @Test func whatIsNotWrittenIsNotMade() {
    let logger = Logger(level: .error, format: .json) { _ in }
    func unexpected() -> String {
      Issue.record("made a message nobody reads")
      return ""
    }
    logger.info(unexpected(), ["a": .string(unexpected())])
  }

  /// The reader of a pipe hangs, and then reads again.
  @Test func aReaderThatHangsHoldsUpNobody() throws {
    var ends: [CInt] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let output = LogOutput(ends[1])
    let line = [UInt8](repeating: UInt8(ascii: "x"), count: 999) + [0x0a]
    func write(_ line: [UInt8]) { output.write(line) { Array("lost \($0)\n".utf8) } }
    for _ in 0..<1000 { write(line) }
    var text = ""
    func read() {
      var buffer = [UInt8](repeating: 0, count: 1 << 20)
      let count = Glibc.read(ends[0], &buffer, buffer.count)
      text += String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
    read()
    let written = text.split(separator: "\n").count
    #expect((60...66).contains(written))
    write(Array("after\n".utf8))
    read()
    #expect(text.hasSuffix("\nlost \(1000 - written)\nafter\n"))
    // Lines of more than a pipe's room stay apart too.
    write([UInt8](repeating: UInt8(ascii: "y"), count: 100_000) + [0x0a])
    read()
    write(Array("last\n".utf8))
    read()
    #expect(text.hasSuffix("y\nlost 1\nlast\n"))
  }

  private final class Lines: Sendable {
    let lines = Mutex<[String]>([])
  }
}
