import WeirTestSupport

/// One or more requests that a client sends to the gateway, byte by byte.
///
/// In all texts `|` stands for a line's end (CRLF), and every character is one byte (Latin-1). `{via}` is the gateway's
/// pseudonym.
struct WireCase: Sendable {
  enum Step: Sendable {
    case send(String)
    /// Reads until what came since the last step ends with this text.
    case read(String)
    /// Reads until the gateway closes the connection.
    case readToEnd
    /// Goes on with another connection.
    case connect
    /// Closes the connection.
    case leave
    case wait(Gate)
    case open(Gate)
  }

  let name: String
  /// The route whose upstream is looked at.
  let route: String
  let steps: [Step]
  /// Lines of the access log that the requests bring about.
  let lines: Int
  /// Whether the chunks of bodies are put together, as their sizes depend on how the system cuts the bytes to pieces.
  let joinsChunks: Bool

  init(_ name: String, _ route: String, lines: Int = 1, joinsChunks: Bool = false, _ steps: Step...) {
    self.name = name
    self.route = route
    self.lines = lines
    self.joinsChunks = joinsChunks
    self.steps = steps
  }

  /// A request on a connection of its own, which the gateway closes after the response.
  init(_ name: String, _ route: String, joinsChunks: Bool = false, _ request: String) {
    self.init(name, route, joinsChunks: joinsChunks, .send(request), .readToEnd)
  }

  /// A GET with these further fields.
  init(_ name: String, _ route: String, fields: String) {
    self.init(name, route, "GET /x HTTP/1.1|Host: \(route).test|Connection: close|\(fields)|")
  }

  var sendsBody: Bool {
    steps.contains { step in
      guard case .send(let text) = step else { return false }
      return text.contains("|Content-Length:") || text.contains("|Transfer-Encoding:")
    }
  }

  static func bytes(_ text: String) -> [UInt8] {
    text.unicodeScalars.flatMap { $0 == "|" ? [13, 10] : [UInt8(truncatingIfNeeded: $0.value)] }
  }
}

/// A route of the recorded gateway, with an upstream of its own.
struct WireRoute: Sendable {
  let name: String
  /// Keys of the route's YAML besides its name, its host and its upstream.
  let rules: String
  let pathPrefix: String
  /// The path of the upstream's URL.
  let base: String
  /// The first script is the first connection's, and so on; the last one serves all further connections. Without any
  /// script nothing listens.
  let scripts: [Script]
  /// Whether the upstream closes each connection after its script, so that the next request must find it closed.
  let closes: Bool

  init(
    _ name: String, rules: String = "", pathPrefix: String = "/", base: String = "", closes: Bool = false,
    _ scripts: Script...
  ) {
    self.name = name
    self.rules = rules
    self.pathPrefix = pathPrefix
    self.base = base
    self.closes = closes
    self.scripts = scripts
  }

  func startUpstream() throws -> ScriptedServer {
    switch scripts.count {
    case 1: try ScriptedServer(scripts[0])
    case 2: try ScriptedServer(scripts[0], scripts[1])
    default: try ScriptedServer(scripts[0], scripts[1], scripts[2])
    }
  }

  func yaml(port: Int) -> String {
    let rest = rules.isEmpty ? "" : ", \(rules)"
    return "  - {name: \(name), match: {host: \(name).test, pathPrefix: \(pathPrefix)}, "
      + "upstream: \"http://127.0.0.1:\(port)\(base)\"\(rest)}\n"
  }
}

extension Script {
  /// Answers all requests, bodies of either framing included, with the same bytes (`|` is CRLF).
  static func answers(_ response: String) -> Script {
    answers { _ in [.send(WireCase.bytes(response))] }
  }

  /// Answers requests by their heads, after their bodies.
  static func answers(_ decide: @escaping @Sendable (_ head: String) -> [Step]) -> Script {
    Script(.forever([.route { head in body(head) + decide(head) }]))
  }

  /// Answers one request after the other by these steps.
  static func inTurn(_ answers: String...) -> Script {
    Script(.steps(answers.flatMap { [.route(body), .send(WireCase.bytes($0))] }), .awaitClose)
  }

  static func body(_ head: String) -> [Step] {
    let lines = head.lowercased().split(separator: "\r\n")
    if lines.contains("transfer-encoding: chunked") { return [.chunkedBody] }
    let length = lines.first { $0.hasPrefix("content-length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
    return length == 0 ? [] : [.bytes(length)]
  }
}
