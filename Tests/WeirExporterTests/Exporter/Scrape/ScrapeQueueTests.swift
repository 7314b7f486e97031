import Testing
import WeirMetrics
import WeirTestSupport

@testable import WeirExporter

@Suite struct ScrapeQueueTests {
  typealias Variant = ScrapeRequest.Variant
  let text = Variant(format: .text, coding: .identity, names: nil)
  let gzip = Variant(format: .text, coding: .gzip, names: nil)
  let open = Variant(format: .openMetrics, coding: .gzip, names: nil)

  @Test func scrapesBeforeTheBeginShareARendering() throws {
    let queue = Subject(waiterLimit: 10, width: 1)
    #expect(queue.add(1, for: gzip))
    let first = try #require(queue.start())
    #expect(first.variant == gzip)
    #expect(queue.add(2, for: text))
    #expect(queue.add(3, for: text))
    #expect(queue.start() == nil)
    #expect(queue.finish(first) == [1])
    let second = try #require(queue.start())
    #expect(second.variant == text)
    #expect(queue.finish(second) == [2, 3])
    #expect(queue.start() == nil)
    #expect(queue.waiterCount == 0)
  }

  @Test func aPageThatHasBegunIsTooOldForALaterScrape() throws {
    let queue = Subject(waiterLimit: 10, width: 2)
    #expect(queue.add(1, for: text))
    let first = try #require(queue.start())
    #expect(queue.add(2, for: text))
    #expect(queue.start() == nil, "the next one of a variant waits for the one before")
    #expect(queue.add(3, for: gzip))
    let other = try #require(queue.start())
    #expect(other.variant == gzip, "without holding up other variants")
    #expect(queue.add(4, for: text))
    #expect(queue.finish(first) == [1])
    let second = try #require(queue.start())
    #expect(queue.finish(second) == [2, 4])
    #expect(queue.finish(other) == [3])
  }

  @Test func atMostSoManyWait() throws {
    let queue = Subject(waiterLimit: 2, width: 1)
    #expect(queue.add(1, for: text))
    let rendering = try #require(queue.start())
    #expect(queue.add(2, for: gzip))
    #expect(!queue.add(3, for: gzip))
    #expect(queue.finish(rendering) == [1])
    #expect(queue.add(4, for: open))
    #expect(queue.waiterCount == 2)
  }

  @Test func whoLeavesMakesPlace() throws {
    let queue = Subject(waiterLimit: 2, width: 1)
    #expect(queue.add(1, for: text))
    let rendering = try #require(queue.start())
    #expect(queue.add(2, for: gzip))
    queue.remove(1)
    queue.remove(2)
    queue.remove(2)
    queue.remove(99)
    #expect(queue.waiterCount == 0)
    #expect(queue.finish(rendering) == [])
    #expect(queue.start() == nil, "a page that nobody waits for isn't begun")
  }

  @Test func finishingTwiceDoesNothing() throws {
    let queue = Subject(waiterLimit: 2, width: 1)
    #expect(queue.add(1, for: text))
    let rendering = try #require(queue.start())
    #expect(queue.finish(rendering) == [1])
    #expect(queue.finish(rendering) == [])
    #expect(queue.waiterCount == 0)
  }

  /// Whatever the order of events, each scrape is answered at most once, with its own variant, by a rendering that began
  /// after it came; none is forgotten; and no limit is passed.
  @Test(arguments: 0..<300) func everyScrapeIsAnsweredOnce(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let limit = Int.random(in: 1...8, using: &random)
    let width = Int.random(in: 1...3, using: &random)
    let queue = Subject(waiterLimit: limit, width: width)
    var open: [Int: (variant: Variant, came: Int)] = [:]
    var running: [(rendering: ScrapeQueue.Rendering, began: Int)] = []

    func finishOne(_ index: Int) {
      let (rendering, began) = running.remove(at: index)
      for waiter in queue.finish(rendering) {
        guard let scrape = open.removeValue(forKey: waiter) else {
          Issue.record("\(waiter) was answered twice, or after it left")
          continue
        }
        #expect(scrape.variant == rendering.variant)
        #expect(scrape.came <= began)
      }
    }

    for step in 0..<200 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<5:
        let variant = [text, gzip, self.open][Int.random(in: 0..<3, using: &random)]
        let isTaken = queue.add(step, for: variant)
        #expect(isTaken == (open.count < limit))
        if isTaken { open[step] = (variant, step) }
      case 5..<8:
        if !running.isEmpty { finishOne(Int.random(in: 0..<running.count, using: &random)) }
      default:
        if let leaving = open.keys.sorted().randomElement(using: &random) {
          queue.remove(leaving)
          open[leaving] = nil
        }
      }
      while let rendering = queue.start() { running.append((rendering, step)) }
      #expect(running.count <= width)
      #expect(Set(running.map(\.rendering.variant)).count == running.count)
      #expect(queue.waiterCount == open.count)
    }
    while !running.isEmpty {
      finishOne(0)
      while let rendering = queue.start() { running.append((rendering, 1000)) }
    }
    #expect(open.isEmpty)
  }
}

/// `#expect` can't call a mutating method.
private final class Subject {
  private var queue: ScrapeQueue

  init(waiterLimit: Int, width: Int) {
    queue = ScrapeQueue(waiterLimit: waiterLimit, width: width)
  }

  var waiterCount: Int { queue.waiterCount }
  func add(_ waiter: Int, for variant: ScrapeRequest.Variant) -> Bool { queue.add(waiter, for: variant) }
  func start() -> ScrapeQueue.Rendering? { queue.start() }
  func finish(_ rendering: ScrapeQueue.Rendering) -> [Int] { queue.finish(rendering) }
  func remove(_ waiter: Int) { queue.remove(waiter) }
}
