import Foundation

/// The forms in which bytes and messages stand in the recorded table.
enum EngineText {
  /// Lines longer than this are recorded as a count and a hash.
  private static let longest = 300
  /// More lines than these are recorded in the same way.
  private static let mostLines = 60

  /// The bytes that a text of a case stands for: `|` is CRLF, and every other character one byte (Latin-1).
  static func bytes(_ text: String) -> [UInt8] {
    text.unicodeScalars.flatMap { $0 == "|" ? [13, 10] : [UInt8(truncatingIfNeeded: $0.value)] }
  }

  /// So many letters and digits, in an order that shows a lost or repeated piece.
  static func letters(_ count: Int) -> [UInt8] {
    let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      for index in 0..<count { buffer[index] = alphabet[(index + index / 997) % 36] }
      initialized = count
    }
  }

  /// A line for each line feed, with a mark before it. Carriage returns and unprintable bytes are escaped.
  static func show(_ bytes: [UInt8], isCut: Bool = false) -> [String] {
    if bytes.count(where: { $0 == 10 }) > mostLines { return ["| (\(bytes.count) bytes, hash \(hash(bytes[...])))"] }
    var lines: [String] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(of: 10).map { $0 + 1 } ?? rest.endIndex
      lines.append("| " + shown(rest[..<end], isCut: isCut))
      rest = rest[end...]
    }
    return lines
  }

  private static func shown(_ line: ArraySlice<UInt8>, isCut: Bool) -> String {
    guard line.count > longest else { return line.map(escaped).joined() }
    return isCut ? "(bytes of the body)" : "(\(line.count) bytes, hash \(hash(line)))"
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

  /// FNV-1a of 64 bits.
  private static func hash(_ bytes: ArraySlice<UInt8>) -> String {
    let value = bytes.withUnsafeBytes { bytes in
      bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
    return String(value, radix: 16)
  }

  /// A message whose chunks are put together: the bytes of the body, and the rest from the last chunk on. Any other message
  /// is shown as it is.
  static func showJoined(_ bytes: [UInt8], isCut: Bool) -> [String] {
    guard let head = bytes.firstRange(of: Array("\r\n\r\n".utf8)),
      bytes[..<head.lowerBound].contains(Array("Transfer-Encoding: chunked".utf8))
    else { return show(bytes, isCut: isCut) }
    var joined: [UInt8] = []
    var rest = bytes[head.upperBound...]
    while let line = rest.firstRange(of: [13, 10]),
      let size = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16), size > 0,
      rest.endIndex - line.upperBound >= size + 2
    {
      joined += rest[line.upperBound..<(line.upperBound + size)]
      rest = rest[(line.upperBound + size + 2)...]
    }
    return show(Array(bytes[..<head.upperBound])) + ["chunks put together"] + show(joined, isCut: isCut)
      + ["after the chunks"] + show(Array(rest), isCut: isCut)
  }

  // MARK: Values that differ from run to run

  /// The text with names for ports, directories and times.
  static func normalized(_ text: String, port: Int, directory: String) -> String {
    text.replacing(#/(:| port )(\d+)\b/#) { $0.2 == "\(port)" ? "\($0.1)PORT" : "\($0.0)" }
      .replacing(directory, with: "DIRECTORY")
      .replacing(#/\d+ (ms|milliseconds)/#) { "N \($0.1)" }
  }
}
