/// A response as its bytes tell it.
struct WireResponse {
  /// Status line and fields without Date and Via, one to a line, with `|` between.
  let head: String
  /// The same of the interim heads before it.
  private(set) var interims: [String] = []
  let hasDateAndVia: Bool
  private(set) var body = ""
  /// Whether the body came to the end that its framing announces; a reset is no end.
  private(set) var isWhole = false

  var status: Int { Int(head.prefix(3)) ?? 0 }
  var saysClose: Bool { head.contains("|Connection: close") }

  /// Reads a response, whole or until the connection ends; nil if there is no head.
  init?(from client: WireClient, toHead isHead: Bool, onHead: () -> Void) {
    guard var lines = Self.lines(from: client) else { return nil }
    while lines.first?.hasPrefix("HTTP/1.1 1") == true {
      interims.append(Self.text(Self.kept(lines)))
      guard let next = Self.lines(from: client) else { return nil }
      lines = next
    }
    let kept = Self.kept(lines)
    hasDateAndVia = lines.contains { $0.hasPrefix("Date: ") } && lines.contains { $0.hasPrefix("Via: ") }
    head = Self.text(kept)
    onHead()
    if isHead || status == 204 || status == 304 {
      isWhole = true
    } else if head.contains("|Transfer-Encoding: chunked") {
      readChunks(client)
    } else if let field = kept.first(where: { $0.hasPrefix("Content-Length: ") }), let length = Int(field.dropFirst(16))
    {
      isWhole = client.read { $0.count >= length }
      body = String(decoding: client.take(min(length, client.bytes.count)), as: UTF8.self)
    } else {
      client.readToEnd()
      isWhole = client.ending == .end
      body = String(decoding: client.take(client.bytes.count), as: UTF8.self)
    }
  }

  /// Reads a head; nil if there is none.
  private static func lines(from client: WireClient) -> [String]? {
    let mark = Array("\r\n\r\n".utf8)
    var end = 0
    let hasHead = client.read { bytes in
      end = bytes.indices.first { bytes[$0...].starts(with: mark) } ?? 0
      return end > 0
    }
    guard hasHead else { return nil }
    return String(decoding: client.take(end + 4), as: UTF8.self).split(separator: "\r\n").map(String.init)
  }

  private static func kept(_ lines: [String]) -> [String] {
    lines.filter { !$0.hasPrefix("Date: ") && !$0.hasPrefix("Via: ") }
  }

  private static func text(_ kept: [String]) -> String {
    String(kept.joined(separator: "|").dropFirst("HTTP/1.1 ".count))
  }

  private mutating func readChunks(_ client: WireClient) {
    while true {
      var lineEnd = 0
      let hasLine = client.read { bytes in
        lineEnd = bytes.indices.first { bytes[$0...].starts(with: [13, 10]) } ?? 0
        return lineEnd > 0
      }
      guard hasLine, let size = Int(String(decoding: client.bytes[..<lineEnd], as: UTF8.self), radix: 16) else {
        return
      }
      let isAll = client.read { $0.count >= lineEnd + 2 + size + 2 }
      _ = client.take(lineEnd + 2)
      body += String(decoding: client.take(min(size, client.bytes.count)), as: UTF8.self)
      guard isAll, client.take(2) == [13, 10] else { return }
      if size == 0 {
        isWhole = true
        return
      }
    }
  }
}
