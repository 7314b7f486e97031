/// The body of a collector's response: how much of a request it refused, and why.
package struct CollectorResponse: Sendable, Hashable {
  /// A longer body is not read: partial success and errors are short, and a body is anybody's.
  package static let longestBody = 64 * 1024
  /// The longest text that is kept.
  package static let longestMessage = 256

  /// The number of spans or data points that were not taken; 0 if all were.
  package private(set) var rejected = 0
  /// The collector's words, at most ``longestMessage`` octets without controls; empty without any.
  package private(set) var message = ""

  /// Everything was taken.
  package init() {}

  /// Reads the body of a response of status 200 (`Export…ServiceResponse`). Nil if it is something else. An empty
  /// body says that everything was taken.
  package init?(_ body: [UInt8], as encoding: MessageEncoding) {
    guard body.count <= Self.longestBody else { return nil }
    switch encoding {
    case .protobuf: guard readExport(body[...]) else { return nil }
    case .json: guard body.isEmpty || readExport(json: body[...]) else { return nil }
    }
    rejected = max(rejected, 0)
  }

  /// Reads the body of a response of another status (`google.rpc.Status`), of which it has the message. Nil if it is
  /// something else: proxies answer with pages of their own.
  package init?(error body: [UInt8], as encoding: MessageEncoding) {
    guard body.count <= Self.longestBody else { return nil }
    switch encoding {
    case .protobuf: guard readStatus(body[...]) else { return nil }
    case .json: guard readStatus(json: body[...]) else { return nil }
    }
  }

  // MARK: Protobuf

  /// `partial_success` has the number 1 in the response of each signal.
  private mutating func readExport(_ body: ArraySlice<UInt8>) -> Bool {
    var fields = ProtobufReader(body)
    while let field = fields.next() {
      guard case (1, .delimited(let value)) = field else { continue }
      guard readPartialSuccess(value) else { return false }
    }
    return !fields.isBroken
  }

  /// `rejected_spans` or `rejected_data_points`, and `error_message`.
  private mutating func readPartialSuccess(_ body: ArraySlice<UInt8>) -> Bool {
    var fields = ProtobufReader(body)
    while let field = fields.next() {
      switch field {
      case (1, .varint(let count)): rejected = Int(Int64(bitPattern: count))
      case (2, .delimited(let text)): message = Self.shown(String(decoding: text.prefix(Self.read), as: UTF8.self))
      default: break
      }
    }
    return !fields.isBroken
  }

  private mutating func readStatus(_ body: ArraySlice<UInt8>) -> Bool {
    var fields = ProtobufReader(body)
    while let field = fields.next() {
      guard case (2, .delimited(let text)) = field else { continue }
      message = Self.shown(String(decoding: text.prefix(Self.read), as: UTF8.self))
    }
    return !fields.isBroken
  }

  // MARK: JSON

  /// Names are in camel case; a reader of proto3's JSON takes those of the definition as well.
  private mutating func readExport(json body: ArraySlice<UInt8>) -> Bool {
    var reader = JSONReader(body)
    return reader.object { name, value in
      guard name == "partialSuccess" || name == "partial_success" else { return }
      _ = value.object { name, value in
        switch name {
        case "rejectedSpans", "rejectedDataPoints", "rejected_spans", "rejected_data_points":
          rejected = value.integer() ?? 0
        case "errorMessage", "error_message": message = Self.shown(value.string() ?? "")
        default: break
        }
      }
    }
  }

  private mutating func readStatus(json body: ArraySlice<UInt8>) -> Bool {
    var reader = JSONReader(body)
    return reader.object { name, value in
      if name == "message" { message = Self.shown(value.string() ?? "") }
    }
  }

  // MARK: Text

  /// The octets that a text is made of: one scalar more than is kept.
  private static let read = longestMessage + 4

  /// The text with blanks for controls and for line ends of Unicode, cut between two scalars.
  private static func shown(_ text: String) -> String {
    var shown = ""
    for scalar in text.unicodeScalars {
      let isControl = scalar.properties.generalCategory == .control || 0x2028...0x2029 ~= scalar.value
      let next: Unicode.Scalar = isControl ? " " : scalar
      guard shown.utf8.count + UTF8.width(next) <= longestMessage else { break }
      shown.unicodeScalars.append(next)
    }
    return shown
  }
}
