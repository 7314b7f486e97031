import WeirHTTP

/// A scalar with its meaning under the core schema (YAML 1.2.2 §10.3.2). Quoted and block scalars are strings.
package struct YAMLScalar: Sendable, Equatable {
  package enum Value: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int)
    case float(Double)
    case string(String)
  }

  package let text: String
  package let value: Value

  package init(quoted text: String) {
    self.text = text
    value = .string(text)
  }

  package init(plain text: String) {
    self.text = text
    value = Self.resolve(text)
  }

  package var summary: String {
    switch value {
    case .null: "nothing"
    case .bool: "the boolean \(text)"
    case .integer, .float: "the number \(text)"
    case .string: "the string \(quoted(text))"
    }
  }

  /// A summary for values that no error text may repeat.
  package var discreetSummary: String {
    switch value {
    case .null: "nothing"
    case .bool: "a boolean"
    case .integer, .float: "a number"
    case .string: "a string"
    }
  }

  private static func resolve(_ text: String) -> Value {
    switch text {
    case "", "~", "null", "Null", "NULL": return .null
    case "true", "True", "TRUE": return .bool(true)
    case "false", "False", "FALSE": return .bool(false)
    case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF": return .float(.infinity)
    case "-.inf", "-.Inf", "-.INF": return .float(-.infinity)
    case ".nan", ".NaN", ".NAN": return .float(.nan)
    default: break
    }
    if let integer = integer(text) { return integer }
    if isFloat(text.utf8), let value = Double(text) { return .float(value) }
    return .string(text)
  }

  /// `[-+]?[0-9]+`, `0o[0-7]+`, `0x[0-9a-fA-F]+`. A number that does not fit in an `Int` becomes a float, as in JSON
  /// readers.
  private static func integer(_ text: String) -> Value? {
    let bytes = text.utf8
    if text.hasPrefix("0o") || text.hasPrefix("0x") {
      let radix = text.hasPrefix("0o") ? 8 : 16
      let digits = text.dropFirst(2)
      // `Int(_:radix:)` also takes a sign, which the schema does not allow here.
      guard let first = digits.utf8.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else { return nil }
      return Int(digits, radix: radix).map(Value.integer)
    }
    let digits = bytes.first == UInt8(ascii: "-") || bytes.first == UInt8(ascii: "+") ? bytes.dropFirst() : bytes[...]
    guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
    return Int(text).map(Value.integer) ?? Double(text).map(Value.float)
  }

  /// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
  private static func isFloat(_ bytes: String.UTF8View) -> Bool {
    var rest = bytes[...]
    func skipSign() {
      if rest.first == UInt8(ascii: "-") || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
    }
    func skipDigits() -> Int {
      let digits = rest.prefix(while: \.isDigit).count
      rest.removeFirst(digits)
      return digits
    }
    skipSign()
    var digits = skipDigits()
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      digits += skipDigits()
    }
    guard digits > 0 else { return false }
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest.removeFirst()
      skipSign()
      guard skipDigits() > 0 else { return false }
    }
    return rest.isEmpty
  }
}
