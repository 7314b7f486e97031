/// What the engine wants to know of a line of a response head.
enum HeaderLine {
  private static let contentLength: StaticString = "content-length:"
  /// Without the colon, before which there may be blanks: some send them (RFC 9112 section 5.1).
  private static let contentEncoding: StaticString = "content-encoding"

  static func isContentEncoding(_ line: UnsafeRawBufferPointer) -> Bool { hasName(contentEncoding, line) }

  private static func hasName(_ name: StaticString, _ line: UnsafeRawBufferPointer) -> Bool {
    guard line.count > name.utf8CodeUnitCount else { return false }
    for index in 0..<name.utf8CodeUnitCount {
      let byte = line[index]
      guard (byte &- 65 < 26 ? byte | 32 : byte) == name.utf8Start[index] else { return false }
    }
    return true
  }

  /// The value of Content-Length, which decides where a response ends (RFC 9110 section 8.6); nil for other lines and
  /// for what is no number.
  static func contentLength(_ line: UnsafeRawBufferPointer) -> Int64? {
    let name = contentLength
    guard hasName(name, line) else { return nil }
    var low = name.utf8CodeUnitCount
    var high = line.count
    while low < high, isBlank(line[low]) { low += 1 }
    while high > low, isBlank(line[high - 1]) { high -= 1 }
    return number(UnsafeRawBufferPointer(rebasing: line[low..<high]))
  }

  private static func number(_ digits: UnsafeRawBufferPointer) -> Int64? {
    guard !digits.isEmpty, digits.count < 19 else { return nil }
    var length: Int64 = 0
    for byte in digits {
      guard byte &- 48 < 10 else { return nil }
      length = length * 10 + Int64(byte &- 48)
    }
    return length
  }

  /// White space and line ends.
  private static func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 || byte == 13 || byte == 10 }
}
