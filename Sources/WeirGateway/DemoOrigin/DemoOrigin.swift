import Synchronization
package import WeirIO
import WeirServer

/// A small origin server on its own local address, so that a gateway without configuration has an upstream.
package final class DemoOrigin: Sendable {
  private let server: Server

  package init() throws {
    let loop = try EventLoop(name: "weir.demo")
    let listener = try Listener(.loopback(port: 0))
    server = Server(listener: listener, loop: loop, handler: DemoHandler())
    server.start()
  }

  package var address: SocketAddress { server.listener.address }

  /// Forwards all requests to the demo origin. The route of `/flaky` retries.
  package func configuration() throws -> Configuration {
    let upstream = try Upstream(parsing: "http://\(address)")
    var flaky = Route(name: "flaky", match: RouteMatch(pathPrefix: "/flaky"), upstream: upstream)
    flaky.retry.limit = 2
    return Configuration(routes: [Route(name: "demo", upstream: upstream), flaky])
  }

  package func stop() async {
    await server.stop(grace: 0)
  }
}

private final class DemoHandler: RequestHandler {
  private static let maximumBody = 1 << 20
  private let flakyVisits = Atomic(0)

  func handle(_ exchange: Exchange) {
    exchange.collectBody(limit: Self.maximumBody) { [self] body in
      let request = DemoRequest(exchange.head, body: body)
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
