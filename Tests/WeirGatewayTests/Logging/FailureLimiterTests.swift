import Testing
import WeirIO

@testable import WeirGateway

@Suite struct FailureLimiterTests {
  private enum Step {
    /// A failure of a kind at a time in seconds, and whether it has a line of its own.
    case note(String, Double, isWritten: Bool)
    /// A look at a time, and what it tells: kind, count, number of the last.
    case look(Double, [String])
    /// When to look next.
    case next(Double?)
  }

  @Test func eachKindHasALineAndACountPerWindow() {
    let steps: [Step] = [
      .next(nil), .look(0, []),
      .note("a", 1, isWritten: true), .next(11), .note("a", 2, isWritten: false), .note("b", 3, isWritten: true),
      .note("a", 10.9, isWritten: false), .next(11), .look(10.9, []),
      // What goes on is told of once per window, from the look on.
      .look(11, ["a 2 4"]), .next(13), .note("a", 12, isWritten: false), .look(13, []), .next(21),
      .note("b", 14, isWritten: true), .look(21, ["a 1 5"]), .next(24),
      // After a window without any it begins anew.
      .look(31, []), .next(nil), .note("a", 31, isWritten: true), .next(41),
      // Nobody looked: it is counted all the same.
      .note("a", 90, isWritten: false), .look(91, ["a 1 8"]),
    ]
    var limiter = FailureLimiter<String, Int>(length: 10)
    var number = 0
    for (index, step) in steps.enumerated() {
      switch step {
      case .note(let kind, let time, let isWritten):
        number += 1
        let hasLine = limiter.note(kind, number, at: Self.time(time))
        #expect(hasLine == isWritten, "\(index)")
      case .look(let time, let expected):
        let rests = limiter.ended(at: Self.time(time)).map { "\($0.kind) \($0.count) \($0.line)" }
        #expect(rests == expected, "\(index)")
      case .next(let time):
        #expect(limiter.nextEnd == time.map(Self.time), "\(index)")
      }
    }
  }

  @Test func kindsThatAreOverAreForgotten() {
    var limiter = FailureLimiter<Int, Int>(length: 1)
    for kind in 0..<100 { _ = limiter.note(kind, kind, at: Self.time(0)) }
    #expect(limiter.kinds == 100)
    _ = limiter.ended(at: Self.time(1))
    #expect(limiter.kinds == 0)
  }

  private static func time(_ seconds: Double) -> MonotonicTime {
    MonotonicTime(nanoseconds: Int64(seconds * 1e9))
  }
}
