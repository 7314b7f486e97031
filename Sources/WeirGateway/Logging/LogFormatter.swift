/// Writes one log line, newline included. Whatever a value holds, the line stays one line and its fields stay apart.
package struct LogFormatter: Sendable {
  /// Longer values are cut there.
  package static let maximumValueLength = 4096

  package let format: LogFormat

  package init(_ format: LogFormat) {
    self.format = format
  }

  package func line(
    at time: LogTime, _ level: LogLevel, _ message: String, _ fields: KeyValuePairs<String, LogValue> = [:]
  ) -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(256)
    switch format {
    case .logfmt:
      line.append(contentsOf: "time=".utf8)
      time.append(to: &line)
      line.append(contentsOf: " level=\(level.rawValue) msg=".utf8)
      append(text: message, to: &line)
    case .json:
      line.append(contentsOf: "{\"time\":\"".utf8)
      time.append(to: &line)
      line.append(contentsOf: "\",\"level\":\"\(level.rawValue)\",\"msg\":".utf8)
      append(text: message, to: &line)
    }
    for (key, value) in fields {
      append(key: key, to: &line)
      append(value, to: &line)
    }
    line.append(contentsOf: (format == .json ? "}\n" : "\n").utf8)
    return line
  }

  private func append(key: String, to line: inout [UInt8]) {
    switch format {
    case .json:
      line.append(UInt8(ascii: ","))
      Self.append(quoted: key, to: &line)
      line.append(UInt8(ascii: ":"))
    case .logfmt:
      line.append(UInt8(ascii: " "))
      // A key can't be quoted, so what would end it is replaced.
      line.append(contentsOf: key.utf8.map { $0 <= 0x20 || $0 == 0x7f || "=\"".utf8.contains($0) ? 0x5f : $0 })
      line.append(UInt8(ascii: "="))
    }
  }

  private func append(_ value: LogValue, to line: inout [UInt8]) {
    switch value {
    case .string(let text): append(text: text, to: &line)
    case .integer(let number): line.append(contentsOf: "\(number)".utf8)
    case .bool(let flag): line.append(contentsOf: (flag ? "true" : "false").utf8)
    // JSON has no word for infinity.
    case .double(let number) where !number.isFinite: append(text: "\(number)", to: &line)
    case .double(let number): line.append(contentsOf: "\(number)".utf8)
    }
  }

  private func append(text: String, to line: inout [UInt8]) {
    var text = text
    if text.utf8.count > Self.maximumValueLength {
      var end = text.utf8.index(text.startIndex, offsetBy: Self.maximumValueLength)
      while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
      text = String(text[..<end]) + "…"
    }
    if format == .logfmt, Self.isBare(text) {
      line.append(contentsOf: text.utf8)
    } else {
      Self.append(quoted: text, to: &line)
    }
  }

  private static func isBare(_ text: String) -> Bool {
    !text.isEmpty
      && text.unicodeScalars.allSatisfy { scalar in
        scalar.value > 0x20 && scalar != "=" && scalar != "\"" && scalar != "\\" && !mustEscape(scalar)
      }
  }

  /// C1 controls and the Unicode line ends as well: terminals and log viewers act on them.
  private static func mustEscape(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) || (0x2028...0x2029).contains(scalar.value)
  }

  /// A JSON string (RFC 8259 §7), which logfmt's readers understand as well.
  private static func append(quoted text: String, to line: inout [UInt8]) {
    line.append(UInt8(ascii: "\""))
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": line.append(contentsOf: "\\\"".utf8)
      case "\\": line.append(contentsOf: "\\\\".utf8)
      case "\n": line.append(contentsOf: "\\n".utf8)
      case "\r": line.append(contentsOf: "\\r".utf8)
      case "\t": line.append(contentsOf: "\\t".utf8)
      case _ where mustEscape(scalar):
        let digits = String(scalar.value, radix: 16)
        line.append(contentsOf: "\\u".utf8)
        line.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count))
        line.append(contentsOf: digits.utf8)
      default: line.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
    line.append(UInt8(ascii: "\""))
  }
}
