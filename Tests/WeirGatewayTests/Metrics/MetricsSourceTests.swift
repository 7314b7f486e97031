import Foundation
import Testing

@testable import WeirGateway

@Suite("Source of a collector", .timeLimit(.minutes(5))) struct MetricsSourceTests {
  @Test func itsItemsAreThoseOfTheMoment() {
    let source = MetricsSource<Int>()
    #expect(source.items.isEmpty)
    source.follow { [1, 2] }
    #expect(source.items == [1, 2])
    source.follow { [3] }
    #expect(source.items == [3])
  }

  /// A wrapper around the closure for each page would overflow this thread's stack.
  @Test func pagesLeaveNothingBehind() {
    let source = MetricsSource<Int>()
    source.follow { [7] }
    let hasEnded = DispatchSemaphore(value: 0)
    let thread = Thread {
      for _ in 0..<50_000 where source.items != [7] { Issue.record("another item") }
      hasEnded.signal()
    }
    thread.stackSize = 512 << 10
    thread.start()
    hasEnded.wait()
  }
}
