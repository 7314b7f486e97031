import Foundation

/// Bytes as a recording shows them: a line for each line feed, with a mark before it. Carriage returns and
/// unprintable bytes are escaped, long repetitions are counted.
enum WireText {
  static func show(_ bytes: [UInt8], joinsChunks: Bool = false) -> String {
    if bytes.isEmpty { return "" }
    let bytes = joinsChunks ? joined(bytes) : bytes
    var lines: [String] = [], line = "| "
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      let run = bytes[index...].prefix { $0 == byte }.count
      if run >= 16 {
        line += "\\{\(escaped(byte)) × \(run)}"
        index += run
        continue
      }
      line += escaped(byte)
      index += 1
      if byte == 10 {
        lines.append(line)
        line = "| "
      }
    }
    if line != "| " { lines.append(line) }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func escaped(_ byte: UInt8) -> String {
    switch byte {
    case 10: "\\n"
    case 13: "\\r"
    case 92: "\\\\"
    case 32..<127: String(UnicodeScalar(byte))
    default: "\\x" + String(Int(byte) + 0x100, radix: 16).dropFirst()
    }
  }

  /// One message with its chunks put together: the body, and the mark of its end.
  private static func joined(_ bytes: [UInt8]) -> [UInt8] {
    let mark = Array("\r\n\r\n".utf8)
    guard let end = position(of: mark, in: bytes[...]),
      String(decoding: bytes[..<end], as: UTF8.self).contains("Transfer-Encoding: chunked")
    else { return bytes }
    var result = Array(bytes[..<(end + 4)]) + Array("(chunks joined)".utf8)
    var rest = bytes[(end + 4)...]
    while let lineEnd = position(of: [13, 10], in: rest),
      let size = Int(String(decoding: rest[rest.startIndex..<lineEnd], as: UTF8.self), radix: 16), size > 0,
      rest.endIndex - lineEnd >= size + 4
    {
      result += rest[(lineEnd + 2)..<(lineEnd + 2 + size)]
      rest = rest[(lineEnd + 4 + size)...]
    }
    return result + Array("(rest)".utf8) + rest
  }

  private static func position(of mark: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
    bytes.indices.first { bytes[$0] == mark[0] && bytes[$0...].starts(with: mark) }
  }

  // MARK: Values that differ from run to run

  /// Dates of the gateway's own, and its pseudonym.
  static func normalized(_ text: String) -> String {
    text.replacing(#/Date: \w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d GMT/#, with: "Date: DATE")
      .replacing(#/weir-[0-9a-f]{8}/#, with: "weir-ID")
  }

  /// Texts that differ between libcurl's versions, and a name for each.
  private static let texts = [
    ("Illegal or missing hexadecimal sequence in chunked-encoding", "BAD CHUNK"),
    ("chunk hex-length char not a hex digit: 0x7a", "BAD CHUNK"),
    ("transfer closed with 5 bytes remaining to read", "5 BYTES MISSING"),
    ("end of response with 5 bytes missing", "5 BYTES MISSING"),
  ]

  /// A line of the log without times, durations, weir's version and a client's port.
  static func normalized(logLine: String) -> String {
    texts.reduce(normalized(logLine)) { $0.replacing($1.0, with: $1.1) }
      .replacing(#/time=\S+/#, with: "time=T")
      .replacing(#/ version=\S+/#, with: " version=V")
      .replacing(#/seconds=[0-9.e-]+/#, with: "seconds=S")
      .replacing(#/median_age=[0-9.e-]+/#, with: "median_age=S")
      .replacing(#/ in [0-9.]+ s\./#, with: " in N s.")
      .replacing(#/after [0-9.]+ s\)/#, with: "after N s)")
      .replacing(#/client=127\.0\.0\.1:\S+/#, with: "client=127.0.0.1:CLIENT")
  }
}
