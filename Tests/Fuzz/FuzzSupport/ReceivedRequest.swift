/// A request as an upstream got it. Whatever was answered before, it must be well-formed, and one.
struct ReceivedRequest {
  let target: String

  /// Nil as long as more has to come.
  init?(_ bytes: [UInt8]) {
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound else { return nil }
    let lines = String(decoding: bytes[..<(end - 4)], as: UTF8.self).split(
      separator: "\r\n", omittingEmptySubsequences: false)
    guard let line = lines.first?.split(separator: " ", omittingEmptySubsequences: false), line.count == 3,
      line[2] == "HTTP/1.1", line[1].hasPrefix("/"), line[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { fatalError("a malformed request: \(lines)") }
    var length = 0
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
        parts[1].utf8.allSatisfy({ $0 >= 0x20 || $0 == 0x09 })
      else { fatalError("a malformed field: \(lines)") }
      if parts[0] == "Content-Length" { length = Int(parts[1].drop { $0 == " " }) ?? -1 }
    }
    if length >= 0, bytes.count < end + length { return nil }
    guard bytes.count == end + length else { fatalError("bytes behind a request: \(lines)") }
    target = String(line[1])
  }
}
