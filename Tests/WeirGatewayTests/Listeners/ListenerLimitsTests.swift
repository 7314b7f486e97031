import Foundation
import Glibc
import Testing
import WeirMetrics
import WeirTestSupport

@testable import WeirGateway

/// Each time limit and each size limit of a listener by its key: below it, at it, and beyond it.
@Suite(.slow, .timeLimit(.minutes(5))) struct ListenerLimitsTests {
  /// What becomes of the connection.
  enum End: Equatable {
    case status(Int)
    /// Closed without an answer.
    case closed
    case reset
  }

  struct Case: CustomTestStringConvertible, Sendable {
    let settings: String
    let testDescription: String
    let end: End
    /// What the client does before its last answer or the end.
    let act: @Sendable (RawClient) -> Void

    init(_ settings: String, _ name: String, _ end: End, _ act: @escaping @Sendable (RawClient) -> Void) {
      (self.settings, self.end, self.act) = (settings, end, act)
      testDescription = "\(settings) \(name)"
    }
  }

  /// Longer than the short limits, and much shorter than the long ones.
  private static let pause = 0.5
  private static let short = "300ms"
  private static let long = "30s"
  private static let large = 8 << 20

  private static func send(_ text: String) -> @Sendable (RawClient) -> Void {
    { client in client.send(text) }
  }

  private static func send(_ first: String, _ second: String) -> @Sendable (RawClient) -> Void {
    { client in
      client.send(first)
      letPass(pause)
      client.send(second)
    }
  }

  /// A head with fields of so many bytes, the empty line among them.
  private static func head(fieldBytes: Int) -> String {
    let fields = "Host: a\r\nX-Long: "
    let rest = String(repeating: "x", count: fieldBytes - fields.utf8.count - 4)
    return "GET / HTTP/1.1\r\n" + fields + rest + "\r\n\r\n"
  }

  private static func target(bytes: Int) -> String {
    "GET /" + String(repeating: "x", count: bytes - 1) + " HTTP/1.1\r\nHost: a\r\n\r\n"
  }

  private static func head(fields: Int) -> String {
    "GET / HTTP/1.1\r\nHost: a\r\n" + (1..<fields).map { "X-\($0): 1\r\n" }.joined() + "\r\n"
  }

  private static func body(_ count: Int) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n" + String(repeating: "x", count: count)
  }

  private static func chunks(_ count: Int) -> String {
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      + "\(String(count, radix: 16))\r\n" + String(repeating: "x", count: count) + "\r\n0\r\n\r\n"
  }

  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let download = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
  private static let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"

  static let sizes: [Case] =
    [(1023, 200), (1024, 200), (1025, 414)].map { bytes, status in
      Case("limits: { targetBytes: 1024 }", "\(bytes)", .status(status), send(target(bytes: bytes)))
    }
    + [(4095, 200), (4096, 200), (4097, 431)].map { bytes, status in
      Case("limits: { headerBytes: 4096 }", "\(bytes)", .status(status), send(head(fieldBytes: bytes)))
    }
    + [(15, 200), (16, 200), (17, 431)].map { fields, status in
      Case("limits: { headerFields: 16 }", "\(fields)", .status(status), send(head(fields: fields)))
    }
    + [(99, 200), (100, 200), (101, 413)].map { bytes, status in
      Case("limits: { bodyBytes: 100 }", "\(bytes)", .status(status), send(body(bytes)))
    }
    + [(99, 200), (100, 200), (101, 413)].map { bytes, status in
      Case("limits: { bodyBytes: 100 }", "\(bytes) in chunks", .status(status), send(chunks(bytes)))
    }

  static let times: [Case] = [
    Case("timeouts: { header: \(short) }", "half a head", .status(408), send("GET / HTTP/1.1\r\nHo")),
    Case("timeouts: { header: \(short) }", "a head that drips", .status(408)) { client in
      client.send("GET / HTTP/1.1\r\nX: ")
      while !client.hasInput, client.send("x") { letPass(0.02) }
    },
    Case("timeouts: { header: \(long) }", "a pause", .status(200), send("GET / HTTP/1.1\r\nHo", "st: a\r\n\r\n")),
    Case("timeouts: { body: \(short) }", "half a body", .status(408), send(post + "ab")),
    Case("timeouts: { body: \(long) }", "a pause", .status(200), send(post + "ab", "cd")),
    Case("timeouts: { idle: \(short) }", "no second request", .closed) { client in
      _ = client.status(of: get)
    },
    Case("timeouts: { idle: \(long) }", "a pause", .status(200)) { client in
      _ = client.status(of: get)
      letPass(pause)
      client.send(get)
    },
    Case("timeouts: { write: \(short) }", "nothing is read", .reset) { client in
      client.send(download)
      client.awaitReset()
    },
    Case("timeouts: { write: \(long) }", "a pause", .status(200)) { client in
      client.send(download)
      letPass(pause)
    },
  ]

  /// A refusal in the middle of a body, part of which the upstream may have had, is no client that left.
  @Test(
    arguments: [
      ("timeouts: { body: \(short) }", post + "ab", 408, "body_timeout"),
      ("timeouts: { body: \(short) }", large("\r\n"), 408, "body_timeout"),
      ("limits: { bodyBytes: 100 }", chunks(101), 413, "refused"),
      ("limits: { bodyBytes: 2097152 }", large("\r\nzz\r\n"), 400, "refused"),
      ("timeouts: { body: \(long) }", chunked + "2\r\nabX", 400, "refused"),
    ] as [(String, String, Int, String)])
  func refusalWithinABody(settings: String, request: String, status: Int, outcome: String) throws {
    let upstream = try ScriptedServer(Script(.head, .swallow(10 << 20)))
    let port = LoopbackPort.free()
    let text = """
      listeners: [{ name: edge, address: "127.0.0.1:\(port)", \(settings) }]
      routes: [{ name: r, upstream: "http://127.0.0.1:\(upstream.port)" }]
      """
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"))
    let client = try RawClient(port: UInt16(port))
    client.send(request)
    #expect(try #require(client.response()).status == status)
    #expect(eventually { rig.count(outcome) == 1 })
    #expect((rig.count("cancelled") ?? 0) == 0)
    let page = rig.registry.text()
    #expect(page.contains("http_response_status_code=\"\(status)\""))
  }

  /// A chunk that the upstream gets as it comes, and bytes behind it.
  private static func large(_ behind: String) -> String {
    chunked + "20000\r\n" + String(repeating: "x", count: 0x20000) + behind
  }

  @Test func thereAre24() { #expect(Self.sizes.count + Self.times.count == 24) }

  @Test(arguments: sizes + times) func limit(_ each: Case) throws {
    let upstream = try ScriptedServer(
      Script(
        .forever([
          .route { head in
            if head.contains("chunked") { return [.chunkedBody, .send(okResponse("ok"))] }
            if head.hasPrefix("GET /large") {
              return [.send(okResponse(String(repeating: "x", count: Self.large)))]
            }
            let length = head.lowercased().split(separator: "content-length: ").dropFirst().first
            return [.bytes(length.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0), .send(okResponse("ok"))]
          }
        ])))
    let port = LoopbackPort.free()
    let text = """
      listeners: [{ name: edge, address: "127.0.0.1:\(port)", \(each.settings) }]
      routes: [{ name: all, upstream: "http://127.0.0.1:\(upstream.port)" }]
      """
    let rig = try GatewayRig(Configuration(parsing: Array(text.utf8), file: "f"))
    let client = try RawClient(port: UInt16(port))
    each.act(client)
    switch each.end {
    case .status(let status):
      let response = try #require(client.response())
      #expect(response.status == status && response.isComplete)
    case .closed:
      #expect(client.rest().isEmpty && !client.wasReset)
    case .reset:
      _ = client.rest()
      #expect(client.wasReset)
    }
    withExtendedLifetime(rig) {}
  }
}

extension RawClient {
  fileprivate func status(of request: String) -> Int? {
    send(request)
    return response()?.status
  }
}
