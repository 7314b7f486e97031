import Foundation
import Synchronization
import Weir
import WeirIO
import WeirTestSupport

@testable import WeirGateway

extension GatewayRig {
  /// A gateway with one route, whose credential is called `c`.
  convenience init(
    to port: Int, credential kind: CredentialSettings.Kind, _ change: (inout Route) -> Void = { _ in }
  ) throws {
    try self.init(Configuration(to: port, credential: kind, change))
  }
}

extension Configuration {
  init(to port: Int, credential kind: CredentialSettings.Kind, _ change: (inout Route) -> Void = { _ in }) throws {
    var route = try Route(to: port)
    route.credential = "c"
    change(&route)
    self.init(routes: [route])
    credentials = [CredentialSettings(name: "c", kind: kind)]
  }
}

extension ScriptedServer {
  /// The heads of the requests that have come, of all connections in their order.
  var requestHeads: [String] {
    (0..<connectionCount).flatMap { index in
      receivedText(on: index).components(separatedBy: "\r\n\r\n").filter { $0.contains(" HTTP/1.1\r\n") }
        .map { $0 + "\r\n" }
    }
  }

  /// The values of Authorization that have come.
  var authorizations: [String] {
    requestHeads.flatMap { head in
      head.components(separatedBy: "\r\n").filter { $0.lowercased().hasPrefix("authorization:") }
        .map { String($0.dropFirst("authorization: ".count)) }
    }
  }
}

/// A token service whose tokens are `token1`, `token2` and so on, of which only the last is good.
final class TokenService: Sendable {
  private struct State {
    var count = 0
    var valid = 0
    var answer: String?
    var gate: WeirTestSupport.Gate?
    var areUseless = false
  }

  private let state = Mutex(State())
  private let server = Mutex<ScriptedServer?>(nil)

  static let refusal = """
    HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 26\r\n\r\n{"error":"invalid_client"}
    """

  /// - Parameter gate: Holds the answers back until it is open.
  init(gate: WeirTestSupport.Gate? = nil) throws {
    state.withLock { $0.gate = gate }
    let server = try ScriptedServer(.answering { [weak self] in self?.next() })
    self.server.withLock { $0 = server }
  }

  var port: Int { server.withLock { $0?.port ?? 0 } }
  var url: URL { Self.url(port: port) }
  /// Requests for tokens that have come.
  var asked: Int { server.withLock { $0?.requestHeads.count ?? 0 } }
  /// Those of them that were answered.
  var count: Int { state.withLock { $0.count } }
  /// In place of a token.
  var answer: String? {
    get { state.withLock { $0.answer } }
    set { state.withLock { $0.answer = newValue } }
  }
  var gate: WeirTestSupport.Gate? {
    get { state.withLock { $0.gate } }
    set { state.withLock { $0.gate = newValue } }
  }
  /// Whether the upstream takes no token.
  var areUseless: Bool {
    get { state.withLock { $0.areUseless } }
    set { state.withLock { $0.areUseless = newValue } }
  }

  func revoke() { state.withLock { $0.valid = 0 } }

  private func next() -> String {
    state.withLock { $0.gate }?.wait()
    return state.withLock { state in
      state.count += 1
      if let answer = state.answer { return answer }
      state.valid = state.count
      return Self.grant("token\(state.count)")
    }
  }

  /// The answer that brings a token.
  static func grant(_ token: String) -> String {
    let body = "{\"access_token\":\"\(token)\",\"token_type\":\"bearer\",\"expires_in\":3600}"
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  /// An upstream that wants the last token.
  func upstream() throws -> ScriptedServer { try ScriptedServer(script) }

  var script: Script {
    Script(.forever([.dispatchHead { [weak self] head in [.send(self?.answer(to: head) ?? Self.unauthorized)] }]))
  }

  /// What that upstream says to a request with this head.
  func answer(to head: String) -> String {
    let isGood = state.withLock { state in
      !state.areUseless
        && head.components(separatedBy: "\r\n").contains("Authorization: Bearer token\(state.valid)")
    }
    return isGood ? okResponse("ok") : Self.unauthorized
  }

  /// An upstream's refusal of a token.
  static let unauthorized = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nwho?"

  func kind(secret: String = "secret", scopes: [String] = [], lifetime: Double = 300) -> CredentialSettings.Kind {
    Self.kind(port: port, secret: secret, scopes: scopes, lifetime: lifetime)
  }

  static func kind(
    port: Int, secret: String = "secret", scopes: [String] = [], lifetime: Double = 300, wait: Double = 20
  ) -> CredentialSettings.Kind {
    var settings = OAuth2Settings(
      tokenURL: url(port: port), clientID: "shop",
      authentication: .basic(Secret(secret)), scopes: scopes)
    settings.lifetime = lifetime
    settings.timeout = 20
    return .oauth2(settings, tls: nil, wait: wait)
  }

  private static func url(port: Int) -> URL {
    URL(string: "http://127.0.0.1:\(port)/token") ?? URL(fileURLWithPath: "/")
  }
}
