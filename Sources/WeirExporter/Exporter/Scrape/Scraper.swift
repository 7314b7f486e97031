import WeirCompression
import WeirIO
import WeirMetrics
import WeirServer

/// Answers requests for the metrics page. Confined to its loop.
///
/// Pages are always written on a worker, small ones too. Collectors are the user's code and may be slow. Meanwhile the
/// loop has to answer other scrapes whose time is up, and `/-/healthy`. The hop costs about 20 µs, a few times a
/// minute.
final class Scraper {
  private let loop: EventLoop
  private let renderer: PageRenderer
  private let metrics: ScrapeMetrics
  private let fields: FixedFields
  private let limits: Exporter.Limits
  private let workers = WorkerPool(name: "weir-exporter-page", width: Scraper.width)
  private let senders: PageSenders
  private var queue: ScrapeQueue
  private var waiting: [ScrapeQueue.Waiter: WaitingScrape] = [:]
  private var nextWaiter = 0
  private var log = ScrapeLog()

  /// Two pages are written at once, so that a collector that hangs doesn't hold up scrapes that don't ask for its
  /// metrics.
  private static let width = 2

  /// - Parameter limits: Those of the exporter, in range.
  init(_ exporter: Exporter, limits: Exporter.Limits, on loop: EventLoop) {
    self.loop = loop
    self.limits = limits
    renderer = PageRenderer(registry: exporter.registry, showsCreated: exporter.options.showsCreated)
    metrics = exporter.metrics
    fields = exporter.fields
    queue = ScrapeQueue(waiterLimit: limits.concurrentScrapes, width: Self.width)
    senders = PageSenders(limit: limits.concurrentScrapes)
  }

  /// The log for the landing page.
  var state: ScrapeLog {
    var state = log
    state.waitingCount = queue.waiterCount
    return state
  }

  func handle(_ exchange: Exchange) {
    do throws(ScrapeRequest.Refusal) {
      try wait(exchange, for: ScrapeRequest(exchange.head, timeoutLimit: limits.scrapeTimeout))
    } catch {
      refuse(exchange, status: error.status, text: error.text)
    }
  }

  private func wait(_ exchange: Exchange, for request: ScrapeRequest) {
    let waiter = nextWaiter
    nextWaiter += 1
    guard queue.add(waiter, for: request.variant) else {
      return refuse(exchange, status: 503, text: "\(limits.concurrentScrapes) scrapes wait already\n", retryAfter: 1)
    }
    let scrape = WaitingScrape(exchange: exchange, request: request, since: loop.turnTime) { [weak self] in
      self?.timeIsUp(for: waiter)
    }
    waiting[waiter] = scrape
    loop.schedule(scrape.timer, at: loop.turnTime.advanced(bySeconds: request.timeout), handler: scrape)
    exchange.onAbort = { [weak self, unowned exchange] in
      // A client that only ended its own side still reads the page.
      if exchange.isEnded { self?.forget(waiter) }
    }
    startRendering()
  }

  private func startRendering() {
    while let rendering = queue.start() {
      let bound = LoopBound(confining: self, on: loop)
      workers.submit { [renderer] in
        let page = try? renderer.render(rendering.variant)
        bound.loop.post { bound.value.didRender(rendering, page) }
      }
    }
  }

  private func didRender(_ rendering: ScrapeQueue.Rendering, _ page: RenderedPage?) {
    for waiter in queue.finish(rendering) {
      guard let scrape = waiting.removeValue(forKey: waiter) else { continue }
      loop.cancel(scrape.timer)
      if let page {
        answer(scrape, page)
      } else {
        refuse(scrape.exchange, status: 500, text: "the page could not be compressed: out of memory\n")
      }
    }
    startRendering()
  }

  private func answer(_ scrape: WaitingScrape, _ page: RenderedPage) {
    let seconds = MonotonicTime.now.seconds(since: scrape.since)
    guard senders.send(page.body, fields: fields.page(scrape.request.variant), over: scrape.exchange) else {
      let text = "\(limits.concurrentScrapes) large pages are on their way already\n"
      return refuse(scrape.exchange, status: 503, text: text, retryAfter: 1)
    }
    metrics.answered(page, seconds: seconds)
    log.answered(page, scrape.request.variant, seconds: seconds, at: loop.turnTime)
  }

  private func timeIsUp(for waiter: ScrapeQueue.Waiter) {
    guard let scrape = forget(waiter) else { return }
    let text = "no page within \(scrape.request.timeout) s: a collector is slow, or the scrape timeout is short\n"
    refuse(scrape.exchange, status: 503, text: text)
  }

  @discardableResult
  private func forget(_ waiter: ScrapeQueue.Waiter) -> WaitingScrape? {
    guard let scrape = waiting.removeValue(forKey: waiter) else { return nil }
    loop.cancel(scrape.timer)
    queue.remove(waiter)
    return scrape
  }

  /// Notes that a scrape was refused, here or for lack of access.
  func noteRefusal(status: Int) {
    metrics.refused(status: status)
    log.refused(status: status, at: loop.turnTime)
  }

  private func refuse(_ exchange: Exchange, status: Int, text: String, retryAfter: Int? = nil) {
    noteRefusal(status: status)
    exchange.respond(status: status, fields: fields.refusal(retryAfter: retryAfter), text: text)
  }
}

/// A scrape between its request and its answer. Confined to the loop.
private final class WaitingScrape: TimerHandler {
  let exchange: Exchange
  let request: ScrapeRequest
  let since: MonotonicTime
  let timer = LoopTimer()
  private let onTimeout: () -> Void

  init(exchange: Exchange, request: ScrapeRequest, since: MonotonicTime, onTimeout: @escaping () -> Void) {
    self.exchange = exchange
    self.request = request
    self.since = since
    self.onTimeout = onTimeout
  }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    onTimeout()
  }
}

extension ScrapeRequest {
  fileprivate init(_ head: RequestHead, timeoutLimit: Double) throws(Refusal) {
    try self.init(
      query: head.query, accept: head.fields.combined("Accept"),
      acceptEncoding: head.fields.combined("Accept-Encoding"),
      announcedTimeout: head.fields["X-Prometheus-Scrape-Timeout-Seconds"], timeoutLimit: timeoutLimit)
  }
}

/// A page in the form in which it is sent.
struct RenderedPage: Sendable {
  let body: [UInt8]
  /// The number of bytes before compression.
  let plainSize: Int
}

/// Writes and compresses pages.
///
/// It runs collectors, which are the user's code and may be slow, so it belongs on a worker's thread. No memory is kept
/// from one page to the next: for a few pages a minute, releasing the memory is worth more than saving the allocation.
struct PageRenderer: Sendable {
  let registry: Registry
  let showsCreated: Bool

  func render(_ variant: ScrapeRequest.Variant) throws(CompressionError) -> RenderedPage {
    var page = ExpositionPage()
    registry.write(Exposition(variant.format, only: variant.names, created: showsCreated), to: &page)
    let body = try page.withBytes { bytes throws(CompressionError) in
      switch variant.coding {
      case .identity: Array(bytes)
      // Higher levels cost several times the processor time for a few percent.
      case .gzip: try Compression.deflate(bytes, .gzip, level: 1)
      }
    }
    return RenderedPage(body: body, plainSize: page.count)
  }
}
