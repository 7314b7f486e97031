import Foundation
import Synchronization
import WeirIO
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

/// The upstreams of a configuration with their checks, without a gateway.
final class CheckRig: Sendable {
  let registry: UpstreamRegistry
  private let state: CheckRigState

  /// - Parameters:
  ///   - upstreams: The value of `upstreams`.
  ///   - mark: Finds the marks of files.
  init(_ upstreams: String, mark: @escaping FileMark.Reader = { FileMark(ofFile: $0) }) throws {
    let state = CheckRigState()
    self.state = state
    let log = Logger(level: .info, format: .logfmt) { line in
      state.lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    registry = UpstreamRegistry(
      DestinationTable(), credentials: CredentialRegistry(monitor: nil, log: log), mark: mark, log: log, lag: { nil })
    try follow(upstreams)
  }

  deinit {
    registry.close()
  }

  func follow(_ upstreams: String) throws {
    let text = "upstreams: \(upstreams)\nroutes: [{name: r, respond: {status: 200}}]"
    try registry.follow(Configuration(parsing: Array(text.utf8), file: "f").upstreams)
  }

  /// The changes of health so far, as the log tells them.
  var events: [String] {
    log.compactMap { line in
      guard let match = line.firstMatch(of: /msg="endpoint (.* its checks.*)" upstream=([^ ]+) endpoint=([^ \n]+)/)
      else {
        return nil
      }
      return "\(match.2): \(match.3) \(match.1)"
    }
  }

  var log: [String] { state.lines.withLock { $0 } }

  func counts(_ upstream: String = "u") -> [String: [CheckResult: Int]] { registry.all[upstream]?.checks.all ?? [:] }

  func count(_ result: CheckResult, _ endpoint: String? = nil, of upstream: String = "u") -> Int {
    counts(upstream).reduce(0) { $0 + (endpoint == nil || $1.key == endpoint ? $1.value[result] ?? 0 : 0) }
  }

  /// The results of all checks of an upstream so far.
  func results(_ upstream: String = "u") -> Set<CheckResult> { Set(counts(upstream).values.flatMap(\.keys)) }
}

private final class CheckRigState: Sendable {
  let lines = Mutex<[String]>([])
}

/// Files of which those that are held keep their callers waiting.
final class HeldFiles: Sendable {
  private let held = Mutex<Set<String>>([])
  private let waiting = Atomic(0)

  /// The number of callers that have to wait.
  var waitingCount: Int { waiting.load(ordering: .acquiring) }

  func hold(_ paths: [String]) { held.withLock { $0.formUnion(paths) } }

  func release() { held.withLock { $0 = [] } }

  func mark(_ path: String) -> FileMark? {
    if isHeld(path) {
      waiting.wrappingAdd(1, ordering: .acquiringAndReleasing)
      _ = eventually { !isHeld(path) }
      waiting.wrappingSubtract(1, ordering: .acquiringAndReleasing)
    }
    return FileMark(ofFile: path)
  }

  private func isHeld(_ path: String) -> Bool { held.withLock { $0.contains(path) } }
}

/// A server with a path `/healthz` whose status a test chooses, and an answer of its own to all other requests.
final class HealthServer: Sendable {
  private let server: ScriptedServer
  private let state: HealthState

  init(_ name: String, status: Int = 200) throws {
    let state = HealthState(status)
    self.state = state
    server = try ScriptedServer(
      Script(
        .forever([
          .dispatchHead { head in
            let isCheck = head.contains(" /healthz ")
            state.requests.withLock { $0.append(head) }
            if !isCheck { return [.send(okResponse(name))] }
            return [.send("HTTP/1.1 \(state.status.load(ordering: .relaxed)) S\r\nContent-Length: 2\r\n\r\nab")]
          }
        ])))
  }

  var port: Int { server.port }
  /// How `endpoints` has it.
  var endpoint: String { "127.0.0.1:\(port)" }

  var status: Int {
    get { state.status.load(ordering: .relaxed) }
    set { state.status.store(newValue, ordering: .relaxed) }
  }

  var requests: [String] { state.requests.withLock { $0 } }
  var checks: [String] { requests.filter { $0.contains(" /healthz ") } }
}

private final class HealthState: Sendable {
  let status: Atomic<Int>
  let requests = Mutex<[String]>([])

  init(_ status: Int) {
    self.status = Atomic(status)
  }
}
