import Synchronization
import Testing
import WeirGateway

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

  private final class Lines: Sendable {
    let lines = Mutex<[String]>([])
  }
}
