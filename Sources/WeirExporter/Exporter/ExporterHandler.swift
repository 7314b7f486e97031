import WeirIO
import WeirServer

/// Answers the exporter's requests, on its loop.
struct ExporterHandler: RequestHandler {
  let scraper: LoopBound<Scraper>
  let landingPage: LandingPage
  let fields: FixedFields
  let isReady: @Sendable () -> Bool

  func handle(_ exchange: Exchange) {
    switch ExporterRoute(method: exchange.head.method, path: exchange.head.path) {
    case .metrics:
      scraper.value.handle(exchange)
    case .landing:
      let page = landingPage.html(scraper.value.state, isReady: isReady(), now: exchange.loop.turnTime)
      exchange.respond(status: 200, fields: fields.landing, body: Array(page.utf8))
    case .healthy:
      exchange.respond(status: 200, fields: fields.common, text: "healthy\n")
    case .ready:
      let isReady = isReady()
      exchange.respond(status: isReady ? 200 : 503, fields: fields.common, text: isReady ? "ready\n" : "not ready\n")
    case .notFound:
      exchange.respond(status: 404, fields: fields.common, text: "not found; there are /metrics and /\n")
    case .wrongMethod:
      exchange.respond(status: 405, fields: fields.wrongMethod, text: "only GET and HEAD\n")
    }
  }
}
