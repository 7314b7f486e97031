/// A request as an upstream got it. Whatever was answered before, it must be well-formed, and one.
struct ReceivedRequest {
  let target: String

  /// Nil as long as more has to come.
  init?(_ bytes: [UInt8]) {
    var start = 0
    var target: String?
    var length = 0
    while true {
      guard let end = bytes[start...].firstIndex(of: 0x0D), end + 1 < bytes.count else { return nil }
      let line = bytes[start..<end]
      guard bytes[end + 1] == 0x0A else { Self.fail("a lone CR", bytes) }
      start = end + 2
      if line.isEmpty { break }
      if target == nil { target = Self.target(of: line, bytes) } else { Self.check(line, &length, bytes) }
    }
    guard let target else { Self.fail("an empty line", bytes) }
    if bytes.count < start + length { return nil }
    guard bytes.count == start + length else { Self.fail("bytes behind a request", bytes) }
    self.target = target
  }

  private static func target(of line: ArraySlice<UInt8>, _ all: [UInt8]) -> String {
    let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
    guard words.count == 3, words[2].elementsEqual("HTTP/1.1".utf8), words[1].first == 0x2F,
      words[1].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { fail("a malformed request line", all) }
    return String(decoding: words[1], as: UTF8.self)
  }

  private static func check(_ line: ArraySlice<UInt8>, _ length: inout Int, _ all: [UInt8]) {
    let name = line.prefix { $0 != 0x3A }
    guard !name.isEmpty, name.count < line.count, name.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      line.allSatisfy({ $0 >= 0x20 || $0 == 0x09 })
    else { fail("a malformed field", all) }
    guard name.elementsEqual("Content-Length".utf8) else { return }
    let digits = line.dropFirst(name.count + 1).drop { $0 == 0x20 }
    guard let number = Int(String(decoding: digits, as: UTF8.self)), number >= 0 else { fail("a bad length", all) }
    length = number
  }

  private static func fail(_ why: String, _ bytes: [UInt8]) -> Never {
    fatalError("\(why): \(String(decoding: bytes, as: UTF8.self))")
  }
}
