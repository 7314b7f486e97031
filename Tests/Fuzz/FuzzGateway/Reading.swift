/// A whole response, as a client understood it. Interim responses come before it: all but 100 and 101.
struct ClientAnswer {
  var status: Int
  var keepsAlive: Bool
  /// Whether it came from the upstream: the gateway's own answers have no Via.
  var isForwarded: Bool
  var body: [UInt8] = []
}

/// What there is of a response, read as strictly as RFC 9112 allows: the gateway writes it anew, so nothing is excused.
enum Reading {
  case partial
  case whole(ClientAnswer, count: Int)
  case malformed(String)

  private struct Malformed: Error {
    let why: String
  }

  /// - Parameter hasEnded: whether the connection ended after these bytes, not by a reset.
  init(_ bytes: [UInt8], of request: ClientRequest, hasEnded: Bool) {
    do throws(Malformed) {
      self = try Self.read(bytes, of: request, hasEnded: hasEnded)
    } catch {
      self = .malformed(error.why)
    }
  }

  var isDecided: Bool {
    if case .partial = self { false } else { true }
  }

  private static func read(
    _ bytes: [UInt8], of request: ClientRequest, hasEnded: Bool
  ) throws(Malformed) -> Reading {
    let start = Array("HTTP/1.1 ".utf8)
    guard bytes.prefix(start.count).elementsEqual(start.prefix(bytes.count)) else { throw Malformed(why: "start") }
    guard let end = endOfHead(bytes) else { return .partial }
    let head = try Head(Array(bytes[..<(end - 2)]))
    if head.status < 200 {
      let isBare = ["connection", "content-length", "transfer-encoding"].allSatisfy { head.value($0) == nil }
      guard isBare, !request.isHTTP10 else { throw Malformed(why: "interim head") }
      return try read(Array(bytes[end...]), of: request, hasEnded: hasEnded).behind(end)
    }
    let body = bytes[end...]
    var answer = ClientAnswer(
      status: head.status, keepsAlive: head.value("connection") == nil && !request.isHTTP10,
      isForwarded: head.value("via") != nil)
    if answer.keepsAlive == false, head.value("connection") != "close" { throw Malformed(why: "Connection") }
    let (length, coding) = (try head.length(), head.value("transfer-encoding"))
    if coding != nil, coding != "chunked" || length != nil || request.isHTTP10 { throw Malformed(why: "framing") }
    if head.status == 204 || head.status == 304 || request.isHead {
      if head.status == 204, coding != nil || length != nil { throw Malformed(why: "framing of 204") }
      return .whole(answer, count: end)
    }
    if coding != nil {
      guard let chunks = try chunks(body) else { return .partial }
      answer.body = chunks.body
      return .whole(answer, count: chunks.end)
    }
    if let length {
      guard body.count >= length else { return .partial }
      answer.body = Array(body.prefix(length))
      return .whole(answer, count: end + length)
    }
    guard request.isHTTP10 else { throw Malformed(why: "no framing") }
    answer.body = Array(body)
    return hasEnded ? .whole(answer, count: bytes.count) : .partial
  }

  /// The same behind so many bytes.
  private func behind(_ bytes: Int) -> Reading {
    if case .whole(let answer, let count) = self { .whole(answer, count: bytes + count) } else { self }
  }

  private static func endOfHead(_ bytes: [UInt8]) -> Int? {
    var index = 3
    while index < bytes.count {
      if bytes[index] == 0x0A, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A, bytes[index - 3] == 0x0D {
        return index + 1
      }
      index += 1
    }
    return nil
  }

  /// The body and where it ends; nil if there is more to come.
  private static func chunks(_ bytes: ArraySlice<UInt8>) throws(Malformed) -> (body: [UInt8], end: Int)? {
    var body: [UInt8] = []
    var rest = bytes
    while true {
      let digits = rest.prefix { $0 != 0x0D }
      guard digits.count < 9, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else {
        throw Malformed(why: "chunk size")
      }
      guard rest.count >= digits.count + 2 else { return nil }
      guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), rest[digits.endIndex + 1] == 0x0A else {
        throw Malformed(why: "chunk size")
      }
      rest = rest.dropFirst(digits.count + 2)
      guard rest.count >= size + 2 else { return nil }
      body += rest.prefix(size)
      rest = rest.dropFirst(size)
      guard rest.prefix(2).elementsEqual([0x0D, 0x0A]) else { throw Malformed(why: "end of a chunk") }
      rest = rest.dropFirst(2)
      if size == 0 { return (body, rest.startIndex) }
    }
  }

  /// Status line and fields.
  private struct Head {
    let status: Int
    private var fields: [(name: String, value: String)] = []

    /// - Parameter bytes: up to the end of the last field line.
    init(_ bytes: [UInt8]) throws(Malformed) {
      var lines: [ArraySlice<UInt8>] = []
      var start = 0
      for end in bytes.indices where bytes[end] == 0x0A && end > start && bytes[end - 1] == 0x0D {
        lines.append(bytes[start..<(end - 1)])
        start = end + 1
      }
      guard lines.allSatisfy({ $0.allSatisfy { $0 != 0x0D && $0 != 0x0A && $0 != 0 } }), let first = lines.first else {
        throw Malformed(why: "a control character")
      }
      let words = String(decoding: first, as: UTF8.self).split(
        separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
      guard words.count == 3, words[1].count == 3, let status = Int(words[1]), (102...999).contains(status) else {
        throw Malformed(why: "status line")
      }
      self.status = status
      for line in lines.dropFirst() {
        let name = line.prefix { $0 != 0x3A }
        guard name.count < line.count, !name.isEmpty, name.allSatisfy(Self.isToken) else {
          throw Malformed(why: "field name")
        }
        let value = String(decoding: line.dropFirst(name.count + 1).drop { $0 == 0x20 }, as: UTF8.self)
        fields.append((String(decoding: name, as: UTF8.self).lowercased(), value))
      }
      for name in ["connection", "content-length", "transfer-encoding"] {
        guard fields.count(where: { $0.name == name }) < 2 else { throw Malformed(why: "\(name) twice") }
      }
    }

    func value(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    func length() throws(Malformed) -> Int? {
      guard let text = value("content-length") else { return nil }
      guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int(text) else {
        throw Malformed(why: "length")
      }
      return length
    }

    private static func isToken(_ octet: UInt8) -> Bool {
      switch octet {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: "!#$%&'*+-.^_`|~".utf8.contains(octet)
      }
    }
  }
}
