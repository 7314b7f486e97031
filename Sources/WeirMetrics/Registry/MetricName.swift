/// The name of a metric, made of a name of another system: dots, for example, become underscores.
///
/// ```swift
/// let queries = MetricName(normalizing: "db.queries", kind: .counter)  // db_queries_total
/// try registry.counter(queries, help: "Queries.", labels: ["pool": "main"]).increment()
/// ```
///
/// Two names can become one: `db.pool_size` and `db.pool.size`. The registry keeps the names as they were and refuses
/// the second one by ``RegistryError/nameClash(metric:name:owner:)``, which has both.
public struct MetricName: Sendable, Hashable {
  /// The name as pages show it. It is empty if nothing is left of the source; such a name is refused.
  public let text: String
  /// The name before it was normalized.
  public let source: String

  /// Normalizes a name as Prometheus does for metrics that it receives by OTLP (its library `otlptranslator`, with
  /// suffixes).
  ///
  /// Letters and digits of ASCII and colons stay. All between them becomes one underscore, and is dropped at the ends.
  /// Before a digit at the beginning comes an underscore.
  ///
  /// - Parameters:
  ///   - source: A name of any characters.
  ///   - kind: The metric's type. A counter's name ends in `_total`; no other part of it is `total`.
  ///   - unit: A unit as Prometheus writes it, such as `seconds`: the name ends in it (before `_total`) unless it
  ///     contains it already. None by default.
  public init(normalizing source: String, kind: MetricKind, unit: String? = nil) {
    var parts = Self.parts(source)
    if let unit = unit.map({ Self.parts($0).joined(separator: "_") }), !unit.isEmpty, !parts.contains(unit) {
      parts.append(unit)
    }
    if kind == .counter { parts = parts.filter { $0 != "total" } + ["total"] }
    let text = parts.joined(separator: "_")
    self.text = text.utf8.first.map(Self.isDigit) ?? false ? "_" + text : text
    self.source = source
  }

  /// A name that is shown as it is.
  init(_ text: String) {
    self.text = text
    source = text
  }

  private static func parts(_ name: String) -> [String] {
    name.utf8.split { !isLetter($0) && !isDigit($0) && $0 != UInt8(ascii: ":") || $0 == UInt8(ascii: "_") }
      .map { String(decoding: $0, as: UTF8.self) }
  }
}

// The alphabets of the exposition formats.

extension MetricName {
  /// `[a-zA-Z_:][a-zA-Z0-9_:]*`
  static func isValid(_ name: String) -> Bool {
    isValid(name.utf8) { isLetter($0) || $0 == UInt8(ascii: ":") }
  }

  /// `[a-zA-Z_][a-zA-Z0-9_]*`
  package static func isValidLabel(_ name: String) -> Bool {
    isValid(name.utf8, letter: isLetter)
  }

  /// Names that are reserved by the formats (`le`) or by Prometheus (`__…`).
  package static func isReservedLabel(_ name: String) -> Bool {
    name == "le" || name.utf8.starts(with: "__".utf8)
  }

  private static func isValid(_ name: String.UTF8View, letter: (UInt8) -> Bool) -> Bool {
    guard let first = name.first, letter(first) else { return false }
    return name.allSatisfy { letter($0) || isDigit($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_")
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
}
