import WeirIO
import WeirServer

/// Answers the exporter's requests, on its loop.
struct ExporterHandler: RequestHandler {
  let door: LoopBound<Door>
  let scraper: LoopBound<Scraper>
  let landingPage: LandingPage
  let fields: FixedFields
  let isReady: @Sendable () -> Bool
  let actions: [String: AdminAction]
  let pages: [String: ExporterPage]

  func handle(_ exchange: Exchange) {
    let route = ExporterRoute(
      method: exchange.head.method, path: exchange.head.path, actions: actions.keys, pages: pages.keys)
    door.value.admit(to: exchange.head.path, exchange.head.fields.combined("Authorization")) { verdict in
      // Checking a password takes long enough for a client to leave.
      if exchange.isEnded { return }
      switch verdict {
      case .granted: answer(exchange, route)
      case .denied: refuse(exchange, route, status: 401, fields.unauthorized(door.value.challenges), "unauthorized\n")
      // Only a gateway bars clients.
      case .busy, .barred: refuse(exchange, route, status: 503, fields.busy, "too many passwords wait to be checked\n")
      }
    }
  }

  /// Refuses a request without telling which paths exist. Refused scrapes are counted.
  private func refuse(
    _ exchange: Exchange, _ route: ExporterRoute, status: Int, _ fields: ResponseFields, _ text: String
  ) {
    if route == .metrics { scraper.value.noteRefusal(status: status) }
    exchange.respond(status: status, fields: fields, text: text)
  }

  private func answer(_ exchange: Exchange, _ route: ExporterRoute) {
    switch route {
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
    case .page(let path): show(pages[path], to: exchange)
    case .action(let path): perform(actions[path], for: exchange)
    case .notFound:
      exchange.respond(status: 404, fields: fields.common, text: "not found; there are /metrics and /\n")
    case .wrongMethod:
      exchange.respond(status: 405, fields: fields.wrongMethod, text: "only GET and HEAD\n")
    case .wrongMethodOfAction:
      exchange.respond(status: 405, fields: fields.wrongMethodOfAction, text: "only POST and PUT\n")
    }
  }

  private func show(_ page: ExporterPage?, to exchange: Exchange) {
    let bound = exchange.bound
    page?.answer(exchange.head) { [fields] response in
      bound.loop.post {
        guard !bound.value.isEnded else { return }
        bound.value.respond(status: response.status, fields: fields.page(response), body: response.body)
      }
    }
  }

  private func perform(_ action: AdminAction?, for exchange: Exchange) {
    guard let act = action?.act else {
      return exchange.respond(status: 403, fields: fields.common, text: action?.refusal ?? "")
    }
    let bound = LoopBound(confining: exchange, on: exchange.loop)
    act { [fields = fields.common] result in
      bound.loop.post {
        if !bound.value.isEnded { bound.value.respond(status: result.status, fields: fields, text: result.text) }
      }
    }
  }
}
