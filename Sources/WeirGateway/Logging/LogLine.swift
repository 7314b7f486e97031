import WeirExporter
import WeirHTTP

package enum LogLevel: String, CaseIterable, Comparable, Sendable {
  case debug
  case info
  case warn
  case error

  private var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warn: 2
    case .error: 3
    }
  }

  package static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}

package enum LogFormat: String, CaseIterable, Sendable {
  /// `key=value key="other value"`
  case logfmt
  /// One object per line.
  case json
}

/// The fields of a line behind its message, in this order.
typealias LogFields = KeyValuePairs<String, LogValue>

/// The value of a log line's field.
enum LogValue: Sendable, Equatable {
  case string(String)
  case integer(Int)
  case double(Double)

  /// A number of seconds, rounded to the microsecond: smaller digits are the noise of arithmetic. Nil is left out.
  static func seconds(_ value: Double?) -> LogValue { value.map { .double(($0 * 1e6).rounded() / 1e6) } ?? "" }

  /// The duration in seconds, as in metrics.
  init(_ duration: Duration) { self = .double(duration / .seconds(1)) }
}

extension LogValue: ExpressibleByStringInterpolation {
  init(stringLiteral value: String) { self = .string(value) }
}

/// Writes one log line, newline included. Fields without text are left out. Whatever a value holds, the line stays one line and its fields stay separate.
struct LogFormatter: Sendable {
  /// The length to which longer values are cut.
  static let maximumValueLength = 4096

  let format: LogFormat

  init(_ format: LogFormat) {
    self.format = format
  }

  func line(at time: Timestamp, _ level: LogLevel, _ message: String, _ fields: LogFields...) -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(256)
    let isJSON = format == .json
    line.append(contentsOf: (isJSON ? "{\"time\":\"" : "time=").utf8)
    time.append(to: &line)
    let beforeMessage = isJSON ? "\",\"level\":\"\(level.rawValue)\",\"msg\":" : " level=\(level.rawValue) msg="
    line.append(contentsOf: beforeMessage.utf8)
    append(text: message, to: &line)
    for (key, value) in fields.joined() where value != .string("") {
      append(key: key, to: &line)
      append(value, to: &line)
    }
    line.append(contentsOf: (isJSON ? "}\n" : "\n").utf8)
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
