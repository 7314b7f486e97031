import Foundation

/// The JSON Schema (draft 2020-12) of the configuration file, by which editors complete and check it. It knows kinds,
/// ranges, words and which keys go together; the rest says `weir check`.
package enum ConfigurationSchema {
  package static var text: String { text(of: ReadFile.mapping.outline) }

  static func text(of outline: ConfigurationOutline) -> String {
    var schema = outline.schema
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "weir.yml"
    schema["description"] = "The configuration of the gateway weir. Durations: 30s, 500ms, 1m30s, or seconds."
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let bytes = try? encoder.encode(JSON.object(schema))
    return String(decoding: bytes ?? Data(), as: UTF8.self) + "\n"
  }
}

/// A value of JSON.
private indirect enum JSON: Encodable, ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral {
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])

  init(stringLiteral value: String) { self = .string(value) }

  init(dictionaryLiteral elements: (String, JSON)...) { self = .object(Dictionary(uniqueKeysWithValues: elements)) }

  static func names(_ names: [String]) -> JSON { .array(names.map { .string($0) }) }

  /// The value that a text of the file stands for.
  init(_ text: String) {
    if text.hasPrefix("["), text.hasSuffix("]") {
      self = .array(text.dropFirst().dropLast().split(separator: ", ").map { JSON(String($0)) })
      return
    }
    switch YAMLScalar(plain: text).value {
    case .bool(let value): self = .bool(value)
    case .integer(let value): self = .integer(value)
    case .float(let value): self = .number(value)
    case .string, .null: self = .string(text)
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension ConfigurationOutline {
  fileprivate var schema: [String: JSON] {
    var schema: [String: JSON] = ["type": "object", "additionalProperties": .bool(false)]
    schema["properties"] = .object(Dictionary(uniqueKeysWithValues: keys.map { ($0.name, .object($0.schema)) }))
    let required = keys.filter(\.isRequired).map(\.name)
    if !required.isEmpty { schema["required"] = .names(required) }
    if !rules.isEmpty { schema["allOf"] = .array(rules.map { .object($0.schema) }) }
    return schema
  }
}

extension ConfigurationOutline.Key {
  fileprivate var schema: [String: JSON] {
    var schema = shape.schema
    if let standard { schema["default"] = JSON(standard) }
    // Links lead nowhere in an editor.
    let plain = text.replacing(#/ \((?:\[[^\]]*\]\([^)]*\)[^)]*|below)\)/#, with: "")
    let description = [shape.limits, plain].filter { !$0.isEmpty }.joined(separator: "; ")
    if !description.isEmpty { schema["description"] = .string(description) }
    return schema
  }
}

extension ConfigurationShape {
  fileprivate var schema: [String: JSON] {
    switch self {
    case .boolean: ["type": "boolean"]
    case .integer(let range):
      ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)]
    case .number(let range): Self.number(range)
    case .duration(let range):
      [
        "anyOf": .array([
          .object(Self.number(range)),
          ["type": "string", "pattern": .string(ConfigurationPattern.duration(range))],
        ])
      ]
    case .words(let words):
      // A word that reads as a number may be one.
      ["enum": .array(words.flatMap { Double($0) == nil ? [.string($0)] : [.string($0), JSON($0)] })]
    case .text(let pattern): ["type": "string"].merging(pattern.map { ["pattern": .string($0)] } ?? [:]) { $1 }
    case .list(let element, let counts):
      ["type": "array", "items": .object(element.schema)].merging(Self.counts(counts, "Items")) { $1 }
    case .entries(let value, let counts):
      ["type": "object", "additionalProperties": .object(value.schema)]
        .merging(Self.counts(counts, "Properties")) { $1 }
    case .mapping(let outline): outline().schema
    case .either(let shapes): ["anyOf": .array(shapes.map { .object($0.schema) })]
    case .named(_, let shape): shape.schema
    }
  }

  private static func number(_ range: ClosedRange<Double>) -> [String: JSON] {
    ["type": "number", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound)]
  }

  private static func counts(_ counts: ClosedRange<Int>, _ what: String) -> [String: JSON] {
    var schema: [String: JSON] = [:]
    if counts.lowerBound > 0 { schema["min\(what)"] = .integer(counts.lowerBound) }
    if counts.upperBound < .max { schema["max\(what)"] = .integer(counts.upperBound) }
    return schema
  }
}

extension ConfigurationRule {
  fileprivate var schema: [String: JSON] {
    switch self {
    case .atMostOne(let keys):
      let pairs = keys.indices.flatMap { first in keys[(first + 1)...].map { [keys[first], $0] } }
      return ["not": ["anyOf": .array(pairs.map { ["required": .names($0)] })]]
    case .some(let keys, _): return ["anyOf": Self.required(keys)]
    case .missing(let key, let others, _): return ["anyOf": Self.required([key] + others)]
    case .one(let keys, _): return ["oneOf": Self.required(keys)]
    case .needs(let keys, let other, _):
      // Such forms are also understood by editors that know older drafts.
      return ["anyOf": .array([["required": .names([other])], .object(Self.none(of: keys))])]
    case .excludes(let others, let keys, _):
      return ["anyOf": .array([.object(Self.none(of: others)), .object(Self.none(of: keys))])]
    case .belong(let other, let word, let keys, _, let required, _):
      return [
        "if": ["properties": .object([other: ["const": .string(word)]]), "required": .names([other])],
        "then": ["required": .names([required])], "else": .object(Self.none(of: keys)),
      ]
    }
  }

  private static func required(_ keys: [String]) -> JSON { .array(keys.map { ["required": .names([$0])] }) }

  private static func none(of keys: [String]) -> [String: JSON] {
    ["properties": .object(Dictionary(uniqueKeysWithValues: keys.map { ($0, .bool(false)) }))]
  }
}

/// Regular expressions (ECMA-262) that texts with numbers in a range match.
enum ConfigurationPattern {
  /// `100/s`, `1000/m` or `5/h`, from one in an hour on.
  static func rate(upTo perSecond: Int) -> String {
    let forms = [("s", 1), ("m", 60), ("h", 3600)].map { unit, seconds in
      "(?=\(atLeast("1"))/)\(atMost("\(perSecond * seconds)"))/\(unit)"
    }
    return "^(?:\(forms.joined(separator: "|")))$"
  }

  /// A duration within a range of seconds. Of one in several units each part is compared with the longest alone.
  static func duration(_ range: ClosedRange<Double>) -> String {
    let units = [("d", 86_400.0), ("h", 3600), ("m", 60), ("s", 1), ("ms", 0.001)]
    let alone = (units + [("", 1)]).map { name, seconds in
      let (least, most) = (text(range.lowerBound / seconds), text(range.upperBound / seconds))
      return "(?=\(atLeast(least))\(name)$)\(atMost(most))\(name)"
    }
    let parts = units.map { name, seconds in "(?:\(atMost(text(range.upperBound / seconds)))\(name))?" }
    let several = "(?=(?:[0-9.]+[a-z]+){2})\(parts.joined())"
    return "^(?:\((alone + [several]).joined(separator: "|")))$"
  }

  /// A number without exponent, rounded to twelve digits behind the point.
  private static func text(_ number: Double) -> String {
    var text = String(format: "%.12f", number)
    while text.hasSuffix("0") { text.removeLast() }
    if text.hasSuffix(".") { text.removeLast() }
    return text
  }

  /// Matches decimal numbers of at least the one that `text` writes.
  static func atLeast(_ text: String) -> String {
    let (whole, fraction) = digits(text)
    var larger = ["[1-9][0-9]{\(whole.count),}"]
    for (place, digit) in whole.enumerated() where digit < 9 {
      larger.append("\(joined(whole[..<place]))[\(digit + 1)-9][0-9]{\(whole.count - place - 1)}")
    }
    var same = fraction.isEmpty ? "(?:\\.[0-9]+)?" : "\\."
    if !fraction.isEmpty {
      same += fraction.reversed().reduce("[0-9]*") { rest, digit in
        digit < 9 ? "(?:[\(digit + 1)-9][0-9]*|\(digit)\(rest))" : "9\(rest)"
      }
    }
    return "0*(?:(?:\(larger.joined(separator: "|")))(?:\\.[0-9]+)?|\(joined(whole[...]))\(same))"
  }

  /// Matches decimal numbers of at most the one that `text` writes.
  static func atMost(_ text: String) -> String {
    let (whole, fraction) = digits(text)
    var smaller = whole.count > 1 ? ["[0-9]{1,\(whole.count - 1)}"] : []
    for (place, digit) in whole.enumerated() where digit > 0 {
      smaller.append("\(joined(whole[..<place]))[0-\(digit - 1)][0-9]{\(whole.count - place - 1)}")
    }
    let rest = fraction.reversed().reduce("0*") { rest, digit in
      digit > 0 ? "(?:(?:[0-\(digit - 1)][0-9]*|\(digit)\(rest))?)" : "(?:(?:0\(rest))?)"
    }
    let same = "\(joined(whole[...]))(?:\\.(?=[0-9])\(rest))?"
    let less = smaller.isEmpty ? "" : "(?:\(smaller.joined(separator: "|")))(?:\\.[0-9]+)?|"
    return "0*(?:\(less)\(same))"
  }

  private static func digits(_ text: String) -> (whole: [Int], fraction: [Int]) {
    let parts = text.split(separator: ".").map { $0.compactMap(\.wholeNumberValue) }
    return (parts.first ?? [0], parts.count > 1 ? parts[1] : [])
  }

  private static func joined(_ digits: some Sequence<Int>) -> String { digits.map { "\($0)" }.joined() }
}
