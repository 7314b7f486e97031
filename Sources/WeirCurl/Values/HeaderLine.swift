import WeirHTTP

/// A line of a response head whose name matters to the engine.
struct HeaderLine {
  struct Name {
    let text: StaticString

    static let connection = Name(text: "connection")
    static let contentLength = Name(text: "content-length")
    static let contentEncoding = Name(text: "content-encoding")
    static let authenticate = Name(text: "www-authenticate")
    static let transferEncoding = Name(text: "transfer-encoding")
  }

  /// False with blanks before the colon, which some read over (RFC 9112 §5.1).
  let isWellFormed: Bool
  /// Without the blanks around it.
  let value: UnsafeRawBufferPointer

  /// nil for a line of another name.
  init?(_ line: UnsafeRawBufferPointer, named name: Name) {
    guard Self.hasName(name.text, line) else { return nil }
    var low = name.text.utf8CodeUnitCount
    isWellFormed = line[low] == UInt8(ascii: ":")
    while low < line.count, Self.isBlank(line[low]) { low += 1 }
    guard low < line.count, line[low] == UInt8(ascii: ":") else { return nil }
    low += 1
    var high = line.count
    while low < high, Self.isBlank(line[low]) { low += 1 }
    while high > low, Self.isBlank(line[high - 1]) { high -= 1 }
    value = UnsafeRawBufferPointer(rebasing: line[low..<high])
  }

  /// Also with blanks before the colon.
  static func isContentEncoding(_ line: UnsafeRawBufferPointer) -> Bool {
    hasName(Name.contentEncoding.text, line)
  }

  /// The value as a length (RFC 9110 §8.6): digits only, and no more than fit.
  var number: Int64? {
    guard !value.isEmpty, value.count < 19 else { return nil }
    var length: Int64 = 0
    for byte in value {
      guard byte.isDigit else { return nil }
      length = length * 10 + Int64(byte & 15)
    }
    return length
  }

  /// Whether the value is the one coding that every HTTP/1.1 client knows.
  var isChunked: Bool { value.spells("chunked") }

  var isKeepAlive: Bool { value.spells("keep-alive") }

  private static func hasName(_ name: StaticString, _ line: UnsafeRawBufferPointer) -> Bool {
    line.count > name.utf8CodeUnitCount && line.begins(with: name)
  }

  /// White space and line ends.
  private static func isBlank(_ byte: UInt8) -> Bool { byte.isBlank || byte.isLineBreak }
}
