import WeirIO
import WeirServer

/// Answers the exporter's requests, on its loop.
struct ExporterHandler: RequestHandler {
  private let authorizer: LoopBound<Authorizer>
  private let scraper: LoopBound<Scraper>
  private let landingPage: LandingPage
  private let fields: FixedFields
  private let options: Exporter.Options
  private let pages: [String: ExporterPage]

  /// - Parameter limits: Those of the exporter, in range.
  init(_ exporter: Exporter, on loop: EventLoop, address: SocketAddress, limits: Exporter.Limits) {
    options = exporter.options
    authorizer = LoopBound(Authorizer(exporter.access, on: loop), on: loop)
    scraper = LoopBound(Scraper(exporter, limits: limits, on: loop), on: loop)
    fields = exporter.fields
    let hasStatus = options.statusPage || options.statusSource != nil
    landingPage = LandingPage(title: options.title, address: "\(address)", since: .now, hasStatus: hasStatus)
    var pages = options.pages
    if hasStatus {
      let sampler = LoopBound(
        StatusSampler(exporter.registry, options.statusSource, title: options.title, on: loop), on: loop)
      loop.post { sampler.value.start() }
      pages.merge(StatusSampler.pages(sampler)) { _, own in own }
    }
    self.pages = pages
  }

  func handle(_ exchange: Exchange) {
    let route = ExporterRoute(
      method: exchange.head.method, path: exchange.head.path, actions: options.actions.keys, pages: pages.keys)
    authorizer.value.admit(to: exchange.head.path, exchange.head.fields.combined("Authorization")) { verdict in
      // Checking a password takes long enough for a client to leave.
      if exchange.isEnded { return }
      switch verdict {
      case .granted: answer(exchange, route)
      case .denied:
        refuse(exchange, route, status: 401, fields.unauthorized(authorizer.value.challenges), "unauthorized\n")
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
      let page = landingPage.html(scraper.value.state, isReady: options.isReady(), now: exchange.loop.turnTime)
      exchange.respond(status: 200, fields: fields.landing, body: page.bytes)
    case .healthy:
      exchange.respond(status: 200, fields: fields.common, text: "healthy\n")
    case .ready:
      let isReady = options.isReady()
      exchange.respond(status: isReady ? 200 : 503, fields: fields.common, text: isReady ? "ready\n" : "not ready\n")
    case .page(let path): pages[path]?.answer(exchange.head, response(to: exchange))
    case .action(let path):
      let action = options.actions[path]
      guard let act = action?.act else {
        return exchange.respond(status: 403, fields: fields.common, text: action?.refusal ?? "")
      }
      act(response(to: exchange))
    case .notFound:
      exchange.respond(status: 404, fields: fields.common, text: "not found; there are /metrics and /\n")
    case .wrongMethod:
      exchange.respond(status: 405, fields: fields.wrongMethod, text: "only GET and HEAD\n")
    case .wrongMethodOfAction:
      exchange.respond(status: 405, fields: fields.wrongMethodOfAction, text: "only POST and PUT\n")
    }
  }

  /// Sends a response of the program. Any thread may call it.
  private func response(to exchange: Exchange) -> @Sendable (ExporterPage.Response) -> Void {
    let bound = exchange.bound
    return { [fields] response in
      bound.loop.post {
        guard !bound.value.isEnded else { return }
        bound.value.respond(status: response.status, fields: fields.page(response), body: response.body)
      }
    }
  }
}

/// The page that a request to the exporter asks for.
enum ExporterRoute: Hashable, Sendable {
  case landing
  case metrics
  case healthy
  case ready
  /// A page of the program, by its path.
  case page(String)
  /// An action on the program, by its path.
  case action(String)
  case notFound
  /// The path exists, but the method is neither GET nor HEAD.
  case wrongMethod
  /// The path is one of an action, but the method is neither POST nor PUT.
  case wrongMethodOfAction

  /// - Parameters:
  ///   - path: The path as received; other spellings of a path are other paths.
  ///   - actions: The paths of actions.
  ///   - pages: The paths of the program's pages.
  init(
    method: String, path: String, actions: some Collection<String> = [], pages: some Collection<String> = []
  ) {
    let isRead = method == "GET" || method == "HEAD"
    switch path {
    case "/": self = isRead ? .landing : .wrongMethod
    case "/metrics": self = isRead ? .metrics : .wrongMethod
    case "/-/healthy": self = isRead ? .healthy : .wrongMethod
    case "/-/ready": self = isRead ? .ready : .wrongMethod
    case _ where pages.contains(path): self = isRead ? .page(path) : .wrongMethod
    case _ where actions.contains(path):
      self = method == "POST" || method == "PUT" ? .action(path) : .wrongMethodOfAction
    default: self = .notFound
    }
  }
}
