import Synchronization
import Weir
import WeirCompression
import WeirExporter
import WeirHTTP
package import WeirIO
import WeirServer

/// A small origin server on its own local address, so that a gateway without configuration has an upstream.
package final class DemoOrigin: Sendable {
  private let server: Server
  private let tokens = DemoTokens()

  package init() throws {
    let loop = try EventLoop(name: "weir.demo")
    let listener = try Listener(.loopback(port: 0))
    server = Server(listener: listener, loop: loop, handler: DemoHandler(tokens))
    server.start()
  }

  package var address: SocketAddress { server.listener.address }

  /// Forwards all requests to the demo origin. The route of `/flaky` retries, and that of `/account` brings a token.
  package func configuration() throws -> Configuration {
    let upstream = try Upstream(parsing: "http://\(address)")
    var flaky = Route(name: "flaky", match: RouteMatch(pathPrefix: "/flaky"), upstream: upstream)
    flaky.retry.limit = 2
    var account = Route(name: "account", match: RouteMatch(pathPrefix: "/account"), upstream: upstream)
    account.credential = DemoTokens.client
    var configuration = Configuration(routes: [Route(name: "demo", upstream: upstream), flaky, account])
    let tokenURL = try "\(upstream.origin)token".asURL()
    configuration.credentials = [
      CredentialSettings(
        name: DemoTokens.client,
        kind: .oauth2(tokens.settings(at: tokenURL), tls: nil, wait: CredentialSettings.defaultWait))
    ]
    return configuration
  }

  package func stop() async {
    await server.stop(grace: 0)
  }
}

private final class DemoHandler: RequestHandler {
  private static let maximumBody = 1 << 20
  private let flakyVisits = Atomic(0)
  private let tokens: Mutex<DemoTokens>

  init(_ tokens: DemoTokens) { self.tokens = Mutex(tokens) }

  func handle(_ exchange: Exchange) {
    exchange.collectBody(limit: Self.maximumBody) { [self] body in
      let request = DemoRequest(exchange.head, body: body)
      if let response = tokens.withLock({ $0.answer(to: request, at: .now) }) {
        return exchange.respond(with: response)
      }
      let visits = exchange.head.isPath("/flaky") ? flakyVisits.wrappingAdd(1, ordering: .relaxed).oldValue : 0
      let response = DemoResponse(to: request, flakyVisits: visits)
      guard response.delay > .zero else { return exchange.respond(with: response) }
      DelayedAnswer(response, to: exchange).arm()
    }
  }
}

/// Answers after a delay. The loop keeps it alive as long as the timer is armed.
private final class DelayedAnswer: TimerHandler {
  private let response: DemoResponse
  private let exchange: Exchange
  private let timer = LoopTimer()

  init(_ response: DemoResponse, to exchange: Exchange) {
    self.response = response
    self.exchange = exchange
  }

  func arm() {
    let due = MonotonicTime.now.advanced(bySeconds: response.delay / .seconds(1))
    exchange.onAbort = { [loop = exchange.loop, timer] in loop.cancel(timer) }
    exchange.loop.schedule(timer, at: due, handler: self)
  }

  func timerFired(_ timer: LoopTimer, now: MonotonicTime) {
    exchange.onAbort = nil
    exchange.respond(with: response)
  }
}

extension Exchange {
  fileprivate func respond(with response: DemoResponse) {
    var fields = ResponseFields()
    for field in response.fields { fields.add(field.name, field.value) }
    respond(status: response.status, fields: fields, body: response.body)
  }
}

extension DemoRequest {
  fileprivate init(_ head: RequestHead, body: [UInt8]) {
    var fields: [HeaderRule] = []
    head.fields.forEach { name, value in
      fields.append(
        HeaderRule(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self)))
    }
    self.init(method: head.method, path: head.path, query: head.query, fields: fields, body: body)
  }
}

/// The demo origin's answer, as a function of the request. It shows each feature that an HTTP client has to handle.
struct DemoResponse: Equatable {
  var status: Int
  var fields: [HeaderRule]
  var body: [UInt8]
  /// The time for which the origin waits before it answers.
  var delay: Duration = .zero

  /// - Parameter flakyVisits: the number of earlier requests for `/flaky`.
  init(to request: DemoRequest, flakyVisits: Int) {
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: true)
    switch (parts.first, parts.count > 1 ? parts[1] : nil) {
    case (nil, _): self.init(200, Self.index)
    case ("echo", _): self.init(status: 200, type: "application/json", body: request.json)
    case ("status", let code?):
      guard let status = Int(code), (200...599).contains(status) else {
        self.init(400, "give a status from 200 to 599, such as /status/503\n")
        return
      }
      self.init(status, "status \(status)\n")
    case ("delay", let text?):
      guard let delay = ConfigurationDuration.parse(String(text)), delay <= .seconds(60) else {
        self.init(400, "give a duration of at most 1m, such as /delay/250ms\n")
        return
      }
      self.init(200, "waited \(text)\n")
      self.delay = delay
    case ("gzip", nil): self.init(gzip: String(repeating: "A weir steers a stream and measures it.\n", count: 256))
    // Two failures, then a success, so that a client with two retries never sees a failure.
    case ("flaky", nil) where flakyVisits % 3 == 2: self.init(200, "third time lucky\n")
    case ("flaky", nil): self.init(503, "not this time\n")
    default: self.init(404, "no such page; / lists what there is\n")
    }
  }

  private init(_ status: Int, _ text: String) {
    self.init(status: status, type: "text/plain; charset=utf-8", body: Array(text.utf8))
  }

  private init(gzip text: String) {
    self.init(200, text)
    do {
      body = try body.span.withUnsafeBytes { body throws(CompressionError) in try Compression.deflate(body, .gzip) }
      fields.append(HeaderRule(name: "Content-Encoding", value: "gzip"))
    } catch {
      self.init(500, "zlib: \(error)\n")
    }
  }

  init(status: Int, type: String, body: [UInt8]) {
    self.status = status
    fields = [HeaderRule(name: "Content-Type", value: type)]
    self.body = body
  }

  static let index = """
    The demo origin of weir, seen through the gateway.

    /echo           the request as JSON, with what the gateway added
    /status/503     any status
    /delay/250ms    an answer that takes its time
    /gzip           a compressed body
    /flaky          fails two times of three; the gateway's retries hide it, as far as their budget goes
    /account        wants a token, which the gateway fetches and renews: each is good for 20 s

    """
}

/// A request in the form that the demo origin uses.
struct DemoRequest {
  var method: String
  var path: String
  var query: String?
  var fields: [HeaderRule]
  var body: [UInt8]

  var json: [UInt8] {
    var json = Array("{\n  \"method\": ".utf8)
    JSONText.append(method, to: &json)
    json += ",\n  \"path\": ".utf8
    JSONText.append(path, to: &json)
    json += ",\n  \"query\": ".utf8
    if let query { JSONText.append(query, to: &json) } else { json += "null".utf8 }
    json += ",\n  \"headers\": {".utf8
    for (index, field) in combined.enumerated() {
      json += (index == 0 ? "\n    " : ",\n    ").utf8
      JSONText.append(field.name, to: &json)
      json += ": ".utf8
      JSONText.append(field.value, to: &json)
    }
    json += (fields.isEmpty ? "" : "\n  ").utf8
    json += "},\n  \"body\": ".utf8
    JSONText.append(String(decoding: body, as: UTF8.self), to: &json)
    return json + "\n}\n".utf8
  }

  /// The fields with each name once, as JSON requires.
  private var combined: [HeaderRule] {
    var result: [HeaderRule] = []
    for field in fields {
      if let index = result.firstIndex(where: { FieldSyntax.isSameName($0.name, field.name) }) {
        result[index].value += ", \(field.value)"
      } else {
        result.append(field)
      }
    }
    return result
  }
}
