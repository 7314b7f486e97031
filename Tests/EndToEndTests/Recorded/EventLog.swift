import Foundation
import FoundationNetworking
import Synchronization
import Weir
import WeirTestSupport

/// The callbacks of a session's monitors as lines of text, in their order, without values that differ from run to run.
final class EventLog: InlineEventMonitor {
  private struct State {
    var lines: [String] = []
    var requests: [ObjectIdentifier: Int] = [:]
    /// Kept, so that no two requests have the same identifier.
    var kept: [Request] = []
    var once: Set<String> = []
  }

  private let state = Mutex(State())
  private let ports: PortNames

  init(_ ports: PortNames) {
    self.ports = ports
  }

  var lines: [String] { state.withLock { $0.lines } }

  func contains(_ text: String) -> Bool { state.withLock { $0.lines.contains { $0.contains(text) } } }

  func count(_ text: String) -> Int { state.withLock { $0.lines.count { $0.contains(text) } } }

  /// Returns when a line with this text is there.
  func wait(for text: String, count: Int = 1) async throws {
    try await eventually("\(text) is there: \(lines.joined(separator: "\n"))") { self.count(text) >= count }
  }

  /// A session's event.
  func note(_ event: String, _ facts: String = "") {
    state.withLock { $0.lines.append(facts.isEmpty ? event : "\(event) \(facts)") }
  }

  /// Notes the first of events that time repeats.
  func noteOnce(_ event: String) {
    state.withLock { if $0.once.insert(event).inserted { $0.lines.append(event) } }
  }

  /// A request's event, with the request's number.
  func note(_ request: Request, _ event: String, _ facts: String = "") {
    state.withLock { state in
      let key = ObjectIdentifier(request)
      let number = state.requests[key] ?? state.requests.count + 1
      if state.requests.updateValue(number, forKey: key) == nil { state.kept.append(request) }
      state.lines.append("\(number) \(event)\(facts.isEmpty ? "" : " " + facts)")
    }
  }
}

// MARK: Facts

extension EventLog {
  func facts(_ request: URLRequest?) -> String {
    guard let request else { return "nil" }
    let fields = (request.allHTTPHeaderFields ?? [:]).filter { $0.key != "User-Agent" && $0.key != "Accept-Language" }
      .sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: "; ")
    return ports.replaced(
      in: "\(request.httpMethod ?? "nil") \(request.url?.absoluteString ?? "nil") [\(Self.boundary(fields))]"
        + (request.httpBody.map { " body=\($0.count)" } ?? ""))
  }

  private static func boundary(_ text: String) -> String {
    text.replacing(#/boundary="?[^;"]+"?/#, with: "boundary=B")
  }

  func facts(_ response: URLResponse?) -> String {
    guard let response = response as? HTTPURLResponse else { return "nil" }
    return ports.replaced(in: "\(response.statusCode) \(response.url?.path ?? "")")
  }

  func facts(_ error: (any Error)?) -> String {
    guard let error else { return "none" }
    if let error = error as? URLError { return "URLError(\(error.code.rawValue)) " + text(error.localizedDescription) }
    return "\(Mirror(reflecting: error).children.first?.label ?? "\(type(of: error))") " + text("\(error)")
  }

  private func text(_ text: String) -> String {
    let line = ports.replaced(in: text).replacing("\n", with: "⏎")
    return WireText.normalized(logLine: line).replacing(#/\/[^ "]*\/tmp[^ "]*|\/tmp\/[^ "]*/#, with: "FILE")
  }

  func facts(_ metrics: TransferMetrics) -> String {
    let phases: [(String, TimeInterval?)] = [
      ("connect", metrics.connect), ("tls", metrics.tls), ("send", metrics.send),
      // With libcurl 8.14.1 attempts with a body lack this phase now and then.
      ("processing", metrics.bytesSent > 0 ? nil : metrics.processing), ("transfer", metrics.transfer),
    ]
    let present = phases.filter { $0.1 != nil }.map(\.0).joined(separator: ",")
    return
      "status=\(metrics.statusCode.map(String.init) ?? "nil") redirects=\(metrics.redirectCount) sent=\(metrics.bytesSent)"
      + " received=\(metrics.bytesReceivedOnWire) decoded=\(metrics.bytesDecoded)"
      + " protocol=\(metrics.networkProtocolName ?? "nil") reused=\(metrics.isReusedConnection)"
      + " coding=\(metrics.contentEncoding ?? "nil") stale=\(metrics.staleConnectionRetries) phases=\(present)"
  }

  func facts(_ task: TransferTask) -> String { "task=\(task.taskIdentifier)" }

  func facts<Value, Failure: Error>(_ result: Result<Value, Failure>) -> String {
    switch result {
    case .success(let value): "success(\(shown(value)))"
    case .failure(let error): "failure(\(facts(error)))"
    }
  }

  private func shown(_ value: Any) -> String {
    switch value {
    case let data as Data: "\(data.count) bytes"
    case let url as URL: url.lastPathComponent.hasPrefix("kept") ? url.lastPathComponent : "file"
    case is Void: ""
    default: "\(value)"
    }
  }
}
