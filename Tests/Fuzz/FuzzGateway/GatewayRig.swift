import FuzzSupport
import WeirExporter
import WeirGateway
import WeirIO
import WeirMetrics

/// A gateway that lives as long as the process, between a client and an upstream.
final class GatewayRig {
  private let upstream = FuzzSupport.Upstream()
  private let gateway: Gateway
  private var client: RawConnection
  private var descriptors = Descriptors()
  private var count = 0

  init() {
    do {
      gateway = try Self.makeGateway(port: upstream.port)
    } catch {
      fatalError("no gateway: \(error)")
    }
    gateway.start()
    let port = gateway.address.port ?? 0
    client = RawConnection(port: port, poll: upstream.poll)
    let prober = Prober(port: port)
    upstream.turn = { prober.turn() }
  }

  private static func makeGateway(port: Int) throws -> Gateway {
    let upstream = try WeirGateway.Upstream(parsing: "http://127.0.0.1:\(port)")
    let routes = ["own", "fuzz", "again"].map { name in
      var route = Route(name: name, match: RouteMatch(pathPrefix: "/\(name)"), upstream: upstream)
      if name == "again" { route.retry.limit = 1 }
      return route
    }
    let registry = Registry()
    let monitor = try MetricsMonitor(registry: registry)
    let log = Logger(level: .debug, format: .logfmt) { line in
      guard line.last == 0x0A, line.dropLast().allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
        fatalError("not a line: \(line)")
      }
    }
    return try Gateway(
      Configuration(routes: routes), options: Gateway.Options(address: .loopback(port: 0), pseudonym: "weir"),
      metrics: try GatewayMetrics(registry, client: monitor), observer: monitor, log: log)
  }

  func check(_ input: FuzzInput) {
    upstream.load(input)
    count += 1
    let requests = input.methods.enumerated().map { index, method in
      // One at most, as a retry waits for up to 100 ms.
      let route = index == 0 && input.options & 3 == 3 ? "again" : "fuzz"
      return ClientRequest(method: method, target: "/\(route)/\(count)/\(index)")
    }
    let own = ClientRequest(method: 0, target: "/own/\(count)")
    if input.options & 4 == 0 {
      for request in requests { _ = exchange([request]) }
      checkOwn(exchange([own]), own)
    } else if exchange(requests + [own]) == nil {
      checkOwn(exchange([own]), own)
    }
    descriptors.check(limit: 64)
  }

  /// Sends requests at once and reads what comes; the answer to the last one, nil if the connection ended before.
  private func exchange(_ requests: [ClientRequest]) -> ClientAnswer? {
    guard client.received.isEmpty, !client.isOver else {
      fatalError("between requests: over \(client.isOver), \(String(decoding: client.received, as: UTF8.self))")
    }
    client.send(requests.flatMap(\.bytes))
    var last: ClientAnswer?
    for (index, request) in requests.enumerated() {
      guard let answer = read(request) else { return nil }
      check(answer, to: request)
      if index == requests.count - 1 { last = answer }
      if answer.keepsAlive { continue }
      upstream.serve { client.isOver }
      guard client.received.isEmpty else { fatalError("bytes behind the last response: \(client.received)") }
      client = RawConnection(port: client.port, poll: upstream.poll)
      break
    }
    return last
  }

  /// Nil if the response was visibly cut off.
  private func read(_ request: ClientRequest) -> ClientAnswer? {
    while true {
      var reading = Reading.partial
      upstream.serve {
        reading = Reading(client.received, of: request, hasEnded: client.isOver && !client.wasReset)
        return reading.isDecided || client.isOver
      }
      switch reading {
      case .whole(let answer, let count):
        client.take(count)
        return answer
      case .malformed(let why):
        fatalError("\(why) in the answer to \(request): \(String(decoding: client.received, as: UTF8.self))")
      case .partial:
        guard client.isOver else { continue }
        guard !client.received.isEmpty else { fatalError("\(request) got nothing") }
        client = RawConnection(port: client.port, poll: upstream.poll)
        return nil
      }
    }
  }

  /// The answer is made of what the upstream sent for that request, or the gateway's own.
  private func check(_ answer: ClientAnswer, to request: ClientRequest) {
    if request.target.hasPrefix("/own/") { return checkOwn(answer, request) }
    guard answer.isForwarded else {
      guard [502, 503, 504].contains(answer.status), request.isHead || answer.body.last == 0x0A else {
        fatalError("\(request) got \(answer)")
      }
      return
    }
    let status = Array(String(answer.status).utf8)
    let isIts = upstream.sent[request.target, default: []].contains { part in
      part.firstRange(of: status) != nil && answer.body.isSubsequence(of: part)
    }
    guard isIts else { fatalError("\(request) got another's: \(answer)") }
  }

  private func checkOwn(_ answer: ClientAnswer?, _ request: ClientRequest) {
    guard let answer, answer.status == 200, answer.isForwarded, answer.keepsAlive,
      answer.body == Array(request.target.utf8)
    else { fatalError("\(request) got \(String(describing: answer))") }
  }
}

extension [UInt8] {
  /// Whether the elements are among `other`'s, in this order: taking off chunked framing leaves those.
  fileprivate func isSubsequence(of other: [UInt8]) -> Bool {
    var rest = self[...]
    for byte in other where byte == rest.first { rest.removeFirst() }
    return rest.isEmpty
  }
}
