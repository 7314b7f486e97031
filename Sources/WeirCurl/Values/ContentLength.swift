/// The field Content-Length, which decides where a response ends (RFC 9110 section 8.6).
enum ContentLength {
  private static let name: StaticString = "content-length:"

  /// The value in a header line of that name; nil for other lines and for what is no number.
  static func value(ofLine line: UnsafeRawBufferPointer) -> Int64? {
    guard line.count > name.utf8CodeUnitCount else { return nil }
    for index in 0..<name.utf8CodeUnitCount {
      let byte = line[index]
      guard (byte &- 65 < 26 ? byte | 32 : byte) == name.utf8Start[index] else { return nil }
    }
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
