@testable import WeirServer

/// What a parser makes of input that arrives in pieces.
struct Parsed: Equatable {
  var requests: [Request] = []
  var refusal: RequestRefusal?

  struct Request: Equatable {
    var line: String
    var fields: [String]
    var bodyLength: BodyLength
    var keepsAlive: Bool
    var authority: String
    var body: [UInt8] = []
    var isComplete = false

    init(_ head: RequestHead) {
      line = "\(head.method) \(head.target) \(head.version) \(head.form) \(head.path) \(head.query ?? "-")"
      fields = []
      bodyLength = head.bodyLength
      keepsAlive = head.keepsAlive
      authority = head.authority
      var fields: [String] = []
      head.fields.forEach {
        fields.append(String(decoding: $0, as: UTF8.self) + "=" + String(decoding: $1, as: UTF8.self))
      }
      self.fields = fields
    }
  }

  /// - Parameter cut: the length of each piece.
  init(_ bytes: [UInt8], limits: ServerLimits = ServerLimits(), cut: Int = .max) {
    var parser = RequestParser(limits: RequestParser.Limits(limits))
    var rest = bytes[...]
    while !rest.isEmpty, refusal == nil {
      let piece = Array(rest.prefix(cut))
      rest = rest.dropFirst(piece.count)
      feed(piece, to: &parser)
    }
  }

  init(_ text: String, limits: ServerLimits = ServerLimits(), cut: Int = .max) {
    self.init(Array(text.utf8), limits: limits, cut: cut)
  }

  private mutating func feed(_ piece: [UInt8], to parser: inout RequestParser) {
    var position = 0
    while true {
      switch parser.next(piece.span, at: &position) {
      case .head(let head): requests.append(Request(head))
      case .body(let range): requests[requests.count - 1].body.append(contentsOf: piece[range])
      case .end: requests[requests.count - 1].isComplete = true
      case .needsInput: return
      case .refused(let refusal):
        self.refusal = refusal
        return
      }
    }
  }
}
