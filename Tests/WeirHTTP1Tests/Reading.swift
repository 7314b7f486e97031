import Testing
import WeirHTTP
import WeirHTTP1

/// The request that a response answers, and the limits for it.
struct Terms: Equatable {
  var isHead = false
  var allowsSwitch = false
  var maximumHeadSize = 65_536
  var ending = ResponseParser.ConnectionEnd.whole

  var parser: ResponseParser {
    ResponseParser(
      requestIsHead: isHead, allowsSwitch: allowsSwitch, maximumHeadSize: maximumHeadSize)
  }
}

/// Everything that a parser says about a connection's bytes.
struct Reading: Equatable {
  var interims: [[UInt8]] = []
  var heads: [[UInt8]] = []
  var status = 0
  var isEncoded = false
  var mayNameFields = false
  var body: [UInt8] = []
  var defect: ResponseDefect?
  /// The bytes behind the end of the response; nil if it has none.
  var excess: Int?
  var neededConnectionEnd = false
  var keepsAlive = false
  var headBytes = 0
  var problem: String?

  /// Reads `bytes` in pieces, the sizes of which `cut` gives.
  init(_ bytes: [UInt8], _ terms: Terms = Terms(), cut: () -> Int = { .max }) {
    var parser = terms.parser
    var rest = bytes[...]
    while !rest.isEmpty, defect == nil, excess == nil {
      let piece = Array(rest.prefix(cut()))
      rest = rest.dropFirst(piece.count)
      feed(piece, to: &parser)
    }
    if defect == nil, let left = excess { excess = left + rest.count }
    if defect == nil, excess == nil { end(&parser, terms.ending) }
    keepsAlive = defect == nil && parser.keepsAlive
    headBytes = defect == nil ? parser.headBytes : 0
    if parser.hasBegun != !bytes.isEmpty { problem = problem ?? "hasBegun is wrong" }
    if parser.interimCount != interims.count { problem = problem ?? "interimCount is wrong" }
  }

  private mutating func feed(_ piece: [UInt8], to parser: inout ResponseParser) {
    var position = 0
    while true {
      let (event, consumed): (ResponseParser.Event, Int)
      do throws(ResponseDefect) {
        (event, consumed) = try piece.span.extracting(position..<piece.count).withUnsafeBytes {
          (input) throws(ResponseDefect) in try parser.next(input)
        }
      } catch {
        defect = error
        return
      }
      if consumed < 0 || consumed > piece.count - position { problem = "consumed is out of bounds" }
      switch event {
      case .needsMore:
        if position + consumed != piece.count { problem = "input was left behind" }
        return
      case .interim(let head): interims.append(head.bytes)
      case .head(let head):
        heads.append(head.bytes)
        (status, isEncoded, mayNameFields) = (head.status, head.isEncoded, head.mayNameFields)
        if parser.status != head.status || parser.version != head.version { problem = "status or version differ" }
      case .body(let range):
        if range.isEmpty || range.upperBound > consumed { problem = "a piece of the body is out of bounds" }
        body += piece[position + range.lowerBound..<position + range.upperBound]
      case .end:
        excess = piece.count - position - consumed
        return
      }
      position += consumed
    }
  }

  private mutating func end(_ parser: inout ResponseParser, _ ending: ResponseParser.ConnectionEnd) {
    do throws(ResponseDefect) {
      guard case .end = try parser.connectionEnded(ending) else {
        problem = "the end of the connection is not that of the response"
        return
      }
      (excess, neededConnectionEnd) = (0, true)
    } catch {
      defect = error
    }
  }

  /// One line: the statuses, the body, and how it ends: `103 200 'abc' keep +5`, `200 'ab' !cutBody`.
  var text: String {
    var words = interims.map { String(decoding: $0.dropFirst(9).prefix(3), as: UTF8.self) }
    if !heads.isEmpty { words.append("\(status)") }
    if !body.isEmpty { words.append("'\(String(decoding: body, as: UTF8.self))'") }
    if let defect {
      words.append("!\(Self.name(defect))")
    } else {
      words.append(keepsAlive ? "keep" : "close")
      if neededConnectionEnd { words.append("fin") }
      if let excess, excess > 0 { words.append("+\(excess)") }
    }
    if let problem { words.append(problem) }
    return words.joined(separator: " ")
  }

  private static func name(_ defect: ResponseDefect) -> String {
    switch defect {
    case .malformedHead(let defect): "head.\(defect)"
    case .malformedChunks(let defect): "chunks.\(defect)"
    default: "\(defect)"
    }
  }
}

/// A row of a table: the bytes of a connection, and the reading's text.
struct Row: CustomTestStringConvertible {
  let bytes: [UInt8]
  let expected: String
  let terms: Terms

  init(_ text: String, _ expected: String, _ configure: (inout Terms) -> Void = { _ in }) {
    self.init(bytes: Array(text.utf8), expected, configure)
  }

  init(bytes: [UInt8], _ expected: String, _ configure: (inout Terms) -> Void = { _ in }) {
    var terms = Terms()
    configure(&terms)
    (self.bytes, self.expected, self.terms) = (bytes, expected, terms)
  }

  var testDescription: String {
    String(decoding: bytes.prefix(200), as: UTF8.self).debugDescription
  }
}

/// A head of status 200 with these lines, and what follows it.
func ok(_ lines: String..., then body: String = "") -> String {
  "HTTP/1.1 200 OK\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n" + body
}

/// A chunked response with these bytes as its body.
func chunked(_ body: String) -> String { ok("Transfer-Encoding: chunked", then: body) }
