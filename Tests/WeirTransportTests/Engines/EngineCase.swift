import WeirCurl
import WeirTestSupport

/// Requests sent one after another through one engine, and the peer that answers them: a row of the recorded table.
struct EngineCase: Sendable {
  enum Place: Sendable {
    case loopback, ipv6Loopback, unixSocket
  }

  let name: String
  let exchanges: [EngineExchange]
  /// The steps of the peer on its first connection, on its second, and so on. After the last step the peer reads to the
  /// connection's end.
  let peer: [[Script.Step]]
  var place = Place.loopback
  var options: @Sendable (inout TransportOptions) -> Void = { _ in }
  /// Whether chunks in requests are put together, as their sizes are the engine's own choice.
  var joinsChunks = false
  /// Whether chance decides how much of the body leaves. Then amounts are not recorded as numbers.
  var cutsUpload = false
  /// Whether the row says that a response took about a second, the time for which `Expect` waits.
  var timesWait = false

  init(
    _ name: String, _ exchanges: EngineExchange..., peer: [Script.Step]...,
    change: (inout EngineCase) -> Void = { _ in }
  ) {
    self.init(name, exchanges: exchanges, peer: peer, change: change)
  }

  init(
    _ name: String, exchanges: [EngineExchange], peer: [[Script.Step]], change: (inout EngineCase) -> Void = { _ in }
  ) {
    self.name = name
    self.exchanges = exchanges
    self.peer = peer
    change(&self)
  }

  /// A GET, and a peer that reads its head and sends these bytes.
  ///
  /// - Parameter ending: the peer's last step; by default it leaves the connection open.
  init(
    _ name: String, answer: String, ending: Script.Step? = nil, change: (inout EngineCase) -> Void = { _ in }
  ) {
    let steps: [Script.Step] = [.head, .wire(answer)]
    self.init(name, EngineExchange(), peer: steps + (ending.map { [$0] } ?? []), change: change)
  }

  var scripts: [Script] { peer.map { Script(.steps($0), .awaitClose) } }
}

/// One request of a case.
struct EngineExchange: Sendable {
  var method: String
  /// The URL, in which `{port}` stands for the peer's port.
  var url: String
  var target: String?
  var fields: [String]
  var body: EngineBody
  var isForOneOfMany = false
  /// Whether the body's file has a byte less than is announced.
  var fileIsCut = false
  /// Whether a pulled body can be begun again.
  var canRewind = true
  /// Gates that open when the delegate lets the body wait, and when it has heard of bytes of the response's body, and of
  /// the end.
  var atPause: Gate?
  var atBody: Gate?
  var atEnd: Gate?
  /// Whether the row goes on only when the engine has no open connection left.
  var awaitsClose = false

  init(
    _ method: String = "GET", _ url: String = "http://127.0.0.1:{port}/", fields: [String] = [],
    body: EngineBody = .none, change: (inout EngineExchange) -> Void = { _ in }
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
    change(&self)
  }

  /// An exchange after which the connection is expected to end.
  static func closing(atEnd gate: Gate? = nil) -> EngineExchange {
    EngineExchange { exchange in
      exchange.atEnd = gate
      exchange.awaitsClose = true
    }
  }
}

/// The body of a case's request. Its bytes are those of ``EngineText/letters(_:)``.
enum EngineBody: Sendable {
  case none
  case bytes(Int)
  case file(Int)
  /// - Parameters:
  ///   - isAnnounced: whether the length is known before.
  ///   - pausesAt: after so many bytes the body waits for the head of the response.
  case pulled(Int, isAnnounced: Bool, pausesAt: Int? = nil)

  var count: Int {
    switch self {
    case .none: 0
    case .bytes(let count), .file(let count), .pulled(let count, _, _): count
    }
  }

  var text: String {
    switch self {
    case .none: "no body"
    case .bytes(let count): "\(count) bytes"
    case .file(let count): "a file of \(count) bytes"
    case .pulled(let count, let isAnnounced, let pause):
      "\(count) pulled bytes, \(isAnnounced ? "announced" : "of unknown length")"
        + (pause.map { ", paused at \($0) until the head comes" } ?? "")
    }
  }
}

extension Script.Step {
  /// Sends these bytes. `|` stands for a line's end (CRLF), and every character is one byte (Latin-1).
  static func wire(_ text: String) -> Script.Step {
    .send(EngineText.bytes(text))
  }

  /// Reads a request without body and answers with status 200 and a body of these bytes.
  static func answer(_ body: String) -> Script.Step {
    .steps([.head, .send(okResponse(body))])
  }
}
