import Synchronization
import WeirHTTP

/// One part of a form as it was appended.
struct MultipartPart: Sendable {
  enum Body: Sendable {
    case data(Data)
    case file(MultipartFile)
    case stream(MultipartStream)
  }

  /// The header fields with the empty line behind them.
  let head: [UInt8]
  let body: Body
  /// How many bytes the body has to have.
  let length: UInt64
}

/// The header fields of a part.
struct MultipartHead {
  private let fields: HTTPHeaders

  init(_ fields: HTTPHeaders) {
    self.fields = fields
  }

  init(name: String, fileName: String?, mimeType: String?) {
    var disposition = "form-data; name=\"\(Self.escaped(name))\""
    if let fileName { disposition += "; filename=\"\(Self.escaped(fileName))\"" }
    var fields = HTTPHeaders([.contentDisposition(disposition)])
    if let mimeType { fields.add(.contentType(mimeType)) }
    self.init(fields)
  }

  /// The first field that would not stay on its line.
  var invalidField: String? {
    fields.first { !FieldSyntax.isToken($0.name) || !FieldSyntax.isSendable($0.value) }?.name
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for field in fields { bytes += "\(field.name): \(field.value)\r\n".utf8 }
    return bytes + "\r\n".utf8
  }

  /// As browsers do it (WHATWG HTML, multipart/form-data encoding algorithm). Scalar by scalar: CR LF is one character. NUL
  /// too, which must not stand in a field, and ends the text for some parsers.
  private static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: { $0.isLineBreak || $0 == 0 || $0 == UInt8(ascii: "\"") }) else { return text }
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": escaped += "%22"
      case "\r": escaped += "%0D"
      case "\n": escaped += "%0A"
      case "\0": escaped += "%00"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

/// A stream that was handed over to a form, for whoever encodes the form first.
final class MultipartStream: Sendable {
  /// An `InputStream` may be used by one thread at a time. The only reference that the form has is in the lock; `take`
  /// empties that and gives it to one caller ever. The user, who may have others, is told to leave it alone.
  private struct Handed: @unchecked Sendable {
    let stream: InputStream
  }

  private let handed: Mutex<Handed?>

  init(_ stream: InputStream) {
    handed = Mutex(Handed(stream: stream))
  }

  /// The stream, for the first who asks.
  func take() -> InputStream? {
    let taken = handed.withLock { handed in
      defer { handed = nil }
      return handed
    }
    return taken?.stream
  }
}

extension UInt64 {
  /// The sum, or the largest number: declared lengths may be anything.
  func saturatingAdd(_ other: UInt64) -> UInt64 {
    let (sum, isTooLarge) = addingReportingOverflow(other)
    return isTooLarge ? .max : sum
  }
}
