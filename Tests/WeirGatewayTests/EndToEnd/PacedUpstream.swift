import Foundation
import Synchronization
import WeirIO
import WeirMetrics
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// An upstream that says when requests came, and answers some of them as a test wants.
final class PacedUpstream: Sendable {
  struct Arrival: Sendable {
    let time: MonotonicTime
    let head: String

    var path: String { String(head.split(separator: " ").dropFirst().first ?? "") }
  }

  private struct State {
    var arrivals: [Arrival] = []
    var answers: [String] = []
    var gate: WeirTestSupport.Gate?

    mutating func next() -> String? { answers.isEmpty ? nil : answers.removeFirst() }
  }

  private final class Box: Sendable {
    let state = Mutex(State())
  }

  private let box: Box
  private let server: ScriptedServer

  /// Requests for `/held` are answered once the gate is open.
  init(_ name: String = "ok", gate: WeirTestSupport.Gate? = nil) throws {
    let box = Box()
    box.state.withLock { $0.gate = gate }
    self.box = box
    server = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            let isHeld = head.contains(" /held")
            let (answer, gate) = box.state.withLock { state in
              state.arrivals.append(Arrival(time: .now, head: head))
              return (isHeld || head.contains(" /healthz ") ? nil : state.next(), state.gate)
            }
            let good = okResponse(name)
            guard isHeld, let gate else { return [.send(answer ?? good)] }
            return [.wait(gate), .answer { box.state.withLock { $0.next() ?? good } }]
          }
        ])))
  }

  var port: Int { server.port }

  var arrivals: [Arrival] { box.state.withLock { $0.arrivals } }

  /// The paths that were asked for, in order.
  var paths: [String] { arrivals.map(\.path) }

  /// Answers the next requests so, one with each; those for `/held` as soon as the gate is open.
  func answersNext(with answers: String...) { box.state.withLock { $0.answers += answers } }

  /// An answer that asks for a pause.
  static func limited(for seconds: String, status: Int = 429) -> String {
    "HTTP/1.1 \(status) No\r\nRetry-After: \(seconds)\r\nContent-Length: 4\r\n\r\nbusy"
  }

  /// An answer of that status that asks for none.
  static func refused(_ status: Int) -> String { "HTTP/1.1 \(status) No\r\nContent-Length: 4\r\n\r\nbusy" }
}

/// A gateway with a pace in front of such an upstream.
final class PaceRig: Sendable {
  let rig: GatewayRig
  let upstream: PacedUpstream
  let lines = LoggedLines()

  init(
    _ pace: PaceSettings?, gate: WeirTestSupport.Gate? = nil, workers: Int = 1,
    _ change: (inout Route) -> Void = { _ in }
  ) throws {
    upstream = try PacedUpstream(gate: gate)
    var route = try Route(to: upstream.port)
    route.pace = pace
    change(&route)
    rig = try GatewayRig(route, workers: workers, log: lines.log)
  }

  /// A client whose request is on its way.
  func asking(_ path: String = "/", _ fields: String = "", method: String = "GET") throws -> RawClient {
    let client = try rig.client()
    client.send("\(method) \(path) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
    return client
  }

  func get(_ path: String = "/", _ fields: String = "") throws -> RawClient.Response? {
    try asking(path, fields).response()
  }

  /// Asks once, and is told to pause. Returns the time before the upstream has said so.
  @discardableResult
  func pause(for seconds: String, status: Int = 429) throws -> MonotonicTime {
    upstream.answersNext(with: PacedUpstream.limited(for: seconds, status: status))
    let before = MonotonicTime.now
    guard try get("/pause")?.status == status else { throw PeerError("the upstream has not asked for a pause") }
    return upstream.arrivals.last?.time ?? before
  }

  var labels: String { "server_address=\"127.0.0.1\",server_port=\"\(upstream.port)\"" }

  func sample(_ name: String, _ more: String = "") -> Double? {
    rig.sample("\(name){\(labels)\(more.isEmpty ? "" : ",\(more)")}")
  }

  func shed(_ reason: String) -> Double { sample("weir_requests_shed_total", "reason=\"\(reason)\"") ?? 0 }

  func denied(_ reason: String) -> Double? { sample("weir_retries_denied_total", "reason=\"\(reason)\"") }

  /// Requests that clients wait for.
  var active: Double? { rig.active }
}

extension GatewayRig {
  /// Requests that clients wait for.
  var active: Double? { sample("http_server_active_requests{http_request_method=\"GET\",url_scheme=\"http\"}") }
}
