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

/// The value of a log line's field.
package enum LogValue: Sendable, Equatable {
  case string(String)
  case integer(Int)
  case double(Double)
  case bool(Bool)
}

/// The fields of a line behind its message, in this order.
package struct LogFields: ExpressibleByDictionaryLiteral, Sequence {
  private var fields: [(key: String, value: LogValue)]

  package init(dictionaryLiteral elements: (String, LogValue)...) {
    fields = elements.map { (key: $0.0, value: $0.1) }
  }

  /// Adds a field, unless it is nil.
  mutating func add(_ key: String, _ value: LogValue?) {
    if let value { fields.append((key: key, value: value)) }
  }

  package func makeIterator() -> Array<(key: String, value: LogValue)>.Iterator { fields.makeIterator() }
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .double(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }

  /// A number of seconds, rounded to the microsecond: smaller digits are the noise of arithmetic.
  package static func seconds(_ value: Double) -> LogValue { .double((value * 1e6).rounded() / 1e6) }

  /// The duration in seconds, as in metrics.
  package init(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    self = .double(Double(seconds) + Double(attoseconds) / 1e18)
  }
}
