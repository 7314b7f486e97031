/// Writes one log line, newline included. Fields without text are left out. Whatever a value holds, the line stays one line and its fields stay separate.
package struct LogFormatter: Sendable {
  /// The length to which longer values are cut.
  package static let maximumValueLength = 4096

  package let format: LogFormat

  package init(_ format: LogFormat) {
    self.format = format
  }

  package func line(
    at time: LogTime, _ level: LogLevel, _ message: String, _ fields: LogFields = [:]
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
    for (key, value) in fields where value != .string("") {
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
      JSONText.append(key, to: &line)
      line.append(UInt8(ascii: ":"))
    case .logfmt:
      line.append(UInt8(ascii: " "))
      // A key can't be quoted, so characters that would end it are replaced.
      line.append(contentsOf: key.utf8.map { $0 <= 0x20 || $0 == 0x7f || "=\"".utf8.contains($0) ? 0x5f : $0 })
      line.append(UInt8(ascii: "="))
    }
  }

  private func append(_ value: LogValue, to line: inout [UInt8]) {
    switch value {
    case .string(let text): append(text: text, to: &line)
    case .integer(let number): line.append(contentsOf: "\(number)".utf8)
    case .bool(let flag): line.append(contentsOf: (flag ? "true" : "false").utf8)
    // JSON has no number for infinity or NaN.
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
      JSONText.append(text, to: &line)
    }
  }

  private static func isBare(_ text: String) -> Bool {
    !text.isEmpty
      && text.unicodeScalars.allSatisfy { scalar in
        scalar.value > 0x20 && scalar != "=" && scalar != "\"" && scalar != "\\" && !JSONText.mustEscape(scalar)
      }
  }
}
