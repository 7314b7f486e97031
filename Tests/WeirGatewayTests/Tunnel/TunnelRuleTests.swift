import Testing
import WeirServer

@testable import WeirGateway

/// Which protocols of a request a route lets through.
@Suite struct TunnelRuleTests {
  private static func fields(_ lines: [String]) throws -> HeaderFields {
    let text = "GET / HTTP/1.1\r\nHost: h\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
    var parser = RequestParser(limits: RequestParser.Limits(ServerLimits()))
    var position = 0
    let head: RequestHead? =
      if case .head(let head) = parser.next(Array(text.utf8).span, at: &position) { head } else { nil }
    return try #require(head).fields
  }

  @Test(
    arguments: [
      (["Connection: upgrade", "Upgrade: websocket"], "websocket"),
      (["connection: keep-alive, Upgrade", "upgrade: WebSocket"], "WebSocket"),
      (
        ["Upgrade: x, websocket ,HTTP/2.0", "Connection: close", "Connection: UPGRADE", "Upgrade: Y/1"],
        "websocket, Y/1"
      ),
      (["Connection: upgrade", "Upgrade: y/2, websocket2, web socket, ,"], nil),
      (["Connection: upgrade"], nil), (["Upgrade: websocket"], nil),
      (["Connection: keep-alive", "Upgrade: websocket"], nil),
      (["Connection: upgraded", "Upgrade: websocket"], nil),
    ] as [([String], String?)])
  func offers(lines: [String], offered: String?) throws {
    let rule = TunnelRule(protocols: ["WEBSOCKET", "y/1"])
    #expect(rule.offered(by: try Self.fields(lines)) == offered)
  }
}
