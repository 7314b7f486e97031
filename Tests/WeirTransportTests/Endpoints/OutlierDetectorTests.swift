import Testing
import WeirIO

@testable import WeirTransport

@Suite("Outlier detector", .timeLimit(.minutes(5))) struct OutlierDetectorTests {
  private typealias Change = EndpointEvent.Kind

  /// The endpoints of one priority and the time.
  private struct Line {
    let settings: OutlierSettings
    var records: [OutlierDetector.Record]
    var detector: OutlierDetector
    var now = 0.0
    var random = 0.5

    init(_ count: Int, _ settings: OutlierSettings = OutlierSettings()) {
      self.settings = settings
      records = (0..<count).map { _ in .init(settings, at: EndpointLine.time(0)) }
      detector = OutlierDetector(settings, records, at: EndpointLine.time(0))
    }

    mutating func end(_ index: Int, failed: Bool, began: Double? = nil) -> Change? {
      detector.ended(
        &records[index], failed: failed, began: EndpointLine.time(began ?? now), random: random,
        at: EndpointLine.time(now))
    }

    /// The changes after so many endings, at one time.
    mutating func fail(_ index: Int, _ times: Int) -> [Change] {
      (0..<times).compactMap { _ in end(index, failed: true) }
    }

    mutating func succeed(_ index: Int, _ times: Int) { for _ in 0..<times { _ = end(index, failed: false) } }

    mutating func check(_ index: Int) -> Change? { detector.returned(&records[index], at: EndpointLine.time(now)) }
  }

  @Test func failuresInARowEject() {
    var line = Line(4)
    #expect(line.fail(0, 4).isEmpty)
    line.succeed(0, 1)
    #expect(line.fail(0, 4).isEmpty)
    #expect(line.fail(0, 1) == [.ejected(.consecutive, seconds: 10)])
  }

  @Test func aShareOfTheWindowEjects() {
    var line = Line(4, OutlierSettings(consecutiveFailures: 1000))
    line.succeed(0, 10)
    #expect(line.fail(0, 9).isEmpty)
    #expect(line.fail(0, 1) == [.ejected(.ratio, seconds: 10)])
  }

  @Test func whatHasLeftTheWindowDoesNotCount() {
    var line = Line(4, OutlierSettings(consecutiveFailures: 1000))
    line.succeed(0, 100)
    line.now = 9
    #expect(line.fail(0, 30).isEmpty)
    line.now = 10.5
    #expect(line.fail(0, 1) == [.ejected(.ratio, seconds: 10)])
  }

  /// Random numbers and the n-th ejection, and how long it lasts.
  @Test(arguments: [(0.0, 1, 9.0), (1.0, 1, 11), (0.5, 2, 20), (0.5, 3, 30), (1, 3, 33), (0.5, 40, 300)])
  func theNthInARowLastsNTimesAsLong(_ random: Double, _ count: Int, _ seconds: Double) {
    var line = Line(4)
    line.random = random
    var last = line.fail(0, 5)
    for _ in 1..<count {
      line.now += 331
      last = line.fail(0, 1)
    }
    #expect(last == [.ejected(.consecutive, seconds: seconds)])
  }

  @Test func aQuietTimeForgets() {
    var line = Line(4)
    for (pause, seconds) in [(0.0, 10.0), (299, 20), (299, 30), (300, 10)] {
      line.now += pause
      #expect(line.fail(0, 5) == [.ejected(.consecutive, seconds: seconds)])
      line.now += 40
      #expect(line.end(0, failed: false) == .returned)
    }
  }

  @Test func atMostAShareIsOut() {
    var line = Line(5)
    for index in 2..<5 { line.succeed(index, 100) }
    #expect(line.fail(0, 5).count == 1)
    #expect(line.fail(1, 5).count == 1)
    #expect(line.fail(2, 200).isEmpty, "half of five is two")
    line.now = 11
    #expect(line.end(0, failed: false) == .returned)
    for index in 3..<5 { line.succeed(index, 100) }
    #expect(line.fail(2, 5).count == 1)
  }

  @Test(arguments: [(1, 1.0), (1, 0.5), (3, 0.3), (4, 0)]) func someSharesAllowNone(_ count: Int, _ share: Double) {
    var line = Line(count, OutlierSettings(maximumShare: share))
    #expect(line.fail(0, 100).isEmpty)
  }

  /// Half of the attempts fail at the first endpoint, and so many of 100 at the others.
  @Test(arguments: [(24, true), (25, false), (60, false)])
  func ejectionNeedsSomebodyBetter(_ failures: Int, _ isEjected: Bool) {
    var line = Line(4, OutlierSettings(failureRatio: 1))
    for number in 0..<100 { _ = line.end(1 + number % 3, failed: number * 7 % 100 < failures) }
    line.succeed(0, 5)
    #expect(line.fail(0, 5) == (isEjected ? [.ejected(.consecutive, seconds: 10)] : []))
  }

  @Test func noneIsEjectedWhileAllFail() {
    var line = Line(10)
    for _ in 0..<100 { for index in 0..<10 { #expect(line.end(index, failed: true) == nil) } }
  }

  @Test func afterTheTimeOneSuccessReturnsAndOneFailureEjects() {
    var line = Line(4)
    _ = line.fail(0, 5)
    line.now = 9.9
    #expect(line.end(0, failed: false) == nil, "the time is not over")
    line.now = 10
    #expect(line.end(0, failed: false, began: 9.9) == nil, "it began before")
    #expect(line.end(0, failed: true) == .ejected(.consecutive, seconds: 20))
    line.now = 30
    #expect(line.end(0, failed: false) == .returned)
    #expect(line.fail(0, 4).isEmpty, "it begins anew")
    #expect(line.end(0, failed: true, began: 29.9) == nil, "it began before the return")
    #expect(line.fail(0, 1) == [.ejected(.consecutive, seconds: 30)])
  }

  @Test func aGoodCheckEndsAnEjection() {
    var line = Line(2)
    #expect(line.check(0) == nil)
    _ = line.fail(0, 5)
    line.now = 1
    #expect(line.check(0) == .returned)
    #expect(line.fail(0, 5) == [.ejected(.consecutive, seconds: 20)])
  }

  @Test func windowsAddUp() {
    let time = EndpointLine.time
    var window = OutlierWindow(seconds: 10, at: time(0))
    var other = OutlierWindow(seconds: 10, at: time(0))
    for second in 0..<20 {
      window.note(failed: true, at: time(Double(second)))
      if second < 15 { other.note(failed: false, at: time(Double(second))) }
    }
    #expect(window.sum == .init(ended: 10, failed: 10))
    #expect(other.sum == .init(ended: 10, failed: 0))
    other.add(window, times: 1)
    #expect(other.sum == .init(ended: 15, failed: 10), "the first five are over")
    other.add(window, times: -1)
    #expect(other.sum == .init(ended: 5, failed: 0))
    other.move(at: time(1_000))
    #expect(other.sum == .init())
    other.note(failed: true, at: time(3))
    #expect(other.sum == .init(ended: 1, failed: 1), "an earlier time counts as the present")
  }
}
