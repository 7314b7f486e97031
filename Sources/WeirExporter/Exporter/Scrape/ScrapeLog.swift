import WeirIO
import WeirMetrics

/// The facts about scrapes that the landing page shows.
struct ScrapeLog: Sendable {
  struct Answer: Sendable {
    let time: MonotonicTime
    let seconds: Double
    let variant: ScrapeRequest.Variant
    let size: Int
    let plainSize: Int
  }

  struct Refusal: Sendable {
    let time: MonotonicTime
    let status: Int
  }

  /// The number of scrapes that wait for a page at this moment.
  var waitingCount = 0
  private(set) var answerCount = 0
  private(set) var refusalCount = 0
  private(set) var lastAnswer: Answer?
  private(set) var lastRefusal: Refusal?

  mutating func answered(
    _ page: RenderedPage, _ variant: ScrapeRequest.Variant, seconds: Double, at time: MonotonicTime
  ) {
    answerCount += 1
    lastAnswer = Answer(
      time: time, seconds: seconds, variant: variant, size: page.body.count, plainSize: page.plainSize)
  }

  mutating func refused(status: Int, at time: MonotonicTime) {
    refusalCount += 1
    lastRefusal = Refusal(time: time, status: status)
  }
}
