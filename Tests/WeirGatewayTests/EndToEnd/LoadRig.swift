import Foundation
import Glibc
import Synchronization
import WeirIO
import WeirMetrics
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// The lines that a gateway has logged.
final class LoggedLines: Sendable {
  private let text = Mutex("")

  /// Writes at level `info` and above.
  var log: Logger { log(.info) }

  func log(_ level: LogLevel) -> Logger {
    Logger(level: level, format: .logfmt) { line in
      self.text.withLock { $0 += String(decoding: line, as: UTF8.self) }
    }
  }

  func forget() { text.withLock { $0 = "" } }

  var all: [String] { text.withLock { $0.split(separator: "\n").map(String.init) } }

  /// The lines with this message.
  func saying(_ message: String) -> [String] {
    all.filter { $0.contains("msg=\"\(message)\"") }
  }
}

/// A gateway with load control in front of an upstream that a test may let hang.
final class LoadRig: Sendable {
  /// What the upstream does with a request from now on.
  enum Mode: Int {
    case answers, hangs, limits
  }

  let rig: GatewayRig
  let lines = LoggedLines()
  let port: Int
  private let upstream: ScriptedServer
  private let upstreamMode: Mode.Box
  private let window: Double
  /// The shortest time that is allowed, in seconds.
  private static let silence = 0.5

  init(workers: Int = 1, window: Double = 10, _ change: (inout Route) -> Void = { _ in }) throws {
    let mode = Mode.Box()
    upstreamMode = mode
    self.window = window
    upstream = try ScriptedServer(
      Script(
        .forever([
          .route { head in
            // A large body is read for as long as it comes.
            if head.hasPrefix("POST") { return [.swallow(1_000_000), .send(okResponse("taken"))] }
            // One that is asked for just before a change of the mode may be read after it.
            if head.hasPrefix("GET /held ") { return [.awaitClose] }
            switch mode.value {
            case .answers: return [.send(okResponse("ok"))]
            case .limits: return [.send("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")]
            case .hangs: return [.awaitClose]
            }
          }
        ])))
    port = upstream.port
    var route = try Route(to: port)
    route.overload?.silence = Self.silence
    change(&route)
    rig = try GatewayRig(route, workers: workers, window: window, log: lines.log)
  }

  var mode: Mode {
    get { upstreamMode.value }
    set { upstreamMode.value = newValue }
  }

  var connections: Int { upstream.connectionCount }

  /// All that the upstream has received.
  var received: String { (0..<upstream.connectionCount).map { upstream.receivedText(on: $0) }.joined() }

  func get(_ path: String = "/", _ fields: String = "") throws -> RawClient.Response? {
    let client = try rig.client()
    client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
    return client.response()
  }

  /// A client whose request is under way.
  func waiter(_ path: String = "/") throws -> RawClient {
    let client = try rig.client()
    client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
    return client
  }

  // MARK: Series

  private var labels: String { "server_address=\"127.0.0.1\",server_port=\"\(port)\"" }

  func sample(_ name: String, _ more: String = "") -> Double? {
    rig.sample("\(name){\(labels)\(more.isEmpty ? "" : ",\(more)")}")
  }

  func isIn(_ state: String) -> Bool { sample("weir_overload_state", "state=\"\(state)\"") == 1 }

  func abandoned(_ phase: String) -> Double? { sample("weir_requests_abandoned_total", "phase=\"\(phase)\"") }

  func shed(_ reason: String) -> Double? { sample("weir_requests_shed_total", "reason=\"\(reason)\"") }

  /// Refused requests of all reasons.
  var shed: Double { ["overload", "waited", "silent"].reduce(0) { $0 + (shed($1) ?? 0) } }

  /// The route's give-ups, which are counted after those of the destination.
  var abandonedOfRoute: Double? { rig.sample("weir_gateway_requests_abandoned_total{route=\"r\"}") }

  // MARK: States

  /// Sends requests until load control knows how long an answer takes. On a busy machine an answer may take so long that
  /// the upstream is called silent, rightly: what the log says of that is forgotten, once the window is over in which the
  /// log would not say it again.
  func warmUp() throws -> Bool {
    let client = try rig.client()
    var wasSlow = false
    let isWarm = eventually {
      let sent = MonotonicTime.now
      client.send("GET /warm HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = client.response()
      if MonotonicTime.now.seconds(since: sent) > Self.silence { wasSlow = true }
      return response?.status == 200 && sample("weir_baseline_seconds") != nil && !isIn("silent")
    }
    if wasSlow, !lines.all.isEmpty {
      letPass(window)
      lines.forget()
    }
    return isWarm
  }

  /// Lets the upstream hang until the gateway knows. Returns the clients whose requests it has swallowed; nil if the
  /// gateway does not find out.
  func becomeSilent() throws -> [RawClient]? {
    guard try warmUp() else { return nil }
    mode = .hangs
    var swallowed: [RawClient] = []
    let end = MonotonicTime.now.advanced(bySeconds: 30)
    while !isIn("silent") {
      guard MonotonicTime.now < end else { return nil }
      swallowed.append(try waiter("/swallowed"))
      letPass(0.1)
    }
    // There is one report in a second, from which the log has the requests that are under way.
    guard eventually({ !lines.saying("upstream is silent").isEmpty }) else { return nil }
    // No request is refused before callers have left, and then from the end of a slot of half a second on.
    for client in swallowed { client.reset() }
    guard eventually({ abandoned("upstream") == Double(swallowed.count) }) else { return nil }
    letPass(0.6)
    return swallowed
  }
}

extension LoadRig.Mode {
  final class Box: Sendable {
    private let number = Atomic(LoadRig.Mode.answers.rawValue)

    var value: LoadRig.Mode {
      get { LoadRig.Mode(rawValue: number.load(ordering: .relaxed)) ?? .answers }
      set { number.store(newValue.rawValue, ordering: .relaxed) }
    }
  }
}

extension LoadRig {
  /// Sends requests to a silent upstream, all at once. Returns the answers; requests that were let through have none.
  func refusals(of count: Int = 8) throws -> [RawClient.Response] {
    let before = shed
    let clients = try (0..<count).map { _ in try waiter("/refused") }
    return answers(to: clients, refusedBefore: before)
  }

  /// The answers, once at least all clients but two have one, and each refusal that was counted has arrived.
  func answers(to clients: [RawClient], refusedBefore before: Double) -> [RawClient.Response] {
    let isHeard = eventually {
      let heard = clients.count { $0.hasInput }
      return heard >= clients.count - 2 && Double(heard) == shed - before
    }
    return isHeard ? clients.filter(\.hasInput).compactMap { $0.response() } : []
  }
}
