import Foundation

/// The JSON Schema (draft 2020-12) of the configuration file, by which editors complete and check it. It knows kinds,
/// ranges, words and most of which keys go together; the rest says `weir check`.
package enum ConfigurationSchema {
  package static var text: String { text(of: ReadFile.mapping.outline) }

  static func text(of outline: ConfigurationOutline) -> String {
    var schema = outline.schema
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "weir.yml"
    schema["description"] = "The configuration of the gateway weir. Durations: 30s, 500ms, 1m30s, or seconds."
    let options: JSONSerialization.WritingOptions = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let bytes = try? JSONSerialization.data(withJSONObject: schema, options: options)
    return String(decoding: bytes ?? Data(), as: UTF8.self) + "\n"
  }
}

extension ConfigurationOutline {
  fileprivate var schema: [String: Any] {
    var schema: [String: Any] = ["type": "object", "additionalProperties": false]
    schema["properties"] = Dictionary(uniqueKeysWithValues: keys.map { ($0.name, $0.schema) })
    let required = keys.filter(\.isRequired).map(\.name)
    if !required.isEmpty { schema["required"] = required }
    if !rules.isEmpty { schema["allOf"] = rules.map(\.schema) }
    return schema
  }
}

extension ConfigurationOutline.Key {
  fileprivate var schema: [String: Any] {
    var schema = shape.schema
    if let standard { schema["default"] = Self.value(standard) }
    // Links lead nowhere in an editor.
    let plain = text.replacing(#/ \(\[[^\]]*\]\([^)]*\)[^)]*\)/#, with: "")
    let description = [shape.limits, plain].filter { !$0.isEmpty }.joined(separator: "; ")
    if !description.isEmpty { schema["description"] = description }
    return schema
  }

  /// The value that a text of the file stands for.
  private static func value(_ text: String) -> Any {
    if text.hasPrefix("["), text.hasSuffix("]") {
      return text.dropFirst().dropLast().split(separator: ", ").map { value(String($0)) }
    }
    return switch YAMLScalar(plain: text).value {
    case .bool(let value): value
    case .integer(let value): value
    case .float(let value): value
    case .string, .null: text
    }
  }
}

extension ConfigurationShape {
  fileprivate var schema: [String: Any] {
    switch self {
    case .boolean: ["type": "boolean"]
    case .integer(let range): ["type": "integer", "minimum": range.lowerBound, "maximum": range.upperBound]
    case .number(let range): ["type": "number", "minimum": range.lowerBound, "maximum": range.upperBound]
    case .duration(let range):
      [
        "anyOf": [
          ConfigurationShape.number(range).schema,
          ["type": "string", "pattern": ConfigurationPattern.duration(range)],
        ]
      ]
    // A word that reads as a number may be one.
    case .words(let words): ["enum": words as [Any] + words.compactMap { Double($0) }]
    case .text(let pattern): pattern.map { ["type": "string", "pattern": $0] } ?? ["type": "string"]
    case .list(let element, let counts):
      ["type": "array", "items": element.schema].merging(Self.counts(counts, "Items")) { $1 }
    case .entries(let value, let counts):
      ["type": "object", "additionalProperties": value.schema].merging(Self.counts(counts, "Properties")) { $1 }
    case .mapping(let outline): outline().schema
    case .either(let shapes): ["anyOf": shapes.map(\.schema)]
    case .named(_, let shape): shape.schema
    }
  }

  private static func counts(_ counts: ClosedRange<Int>, _ what: String) -> [String: Any] {
    var schema: [String: Any] = [:]
    if counts.lowerBound > 0 { schema["min\(what)"] = counts.lowerBound }
    if counts.upperBound < .max { schema["max\(what)"] = counts.upperBound }
    return schema
  }
}

extension ConfigurationRule {
  /// In forms that editors which know older drafts understand too.
  fileprivate var schema: [String: Any] {
    switch self {
    case .atMostOne(let keys):
      let pairs = keys.indices.flatMap { first in keys[(first + 1)...].map { [keys[first], $0] } }
      return ["not": ["anyOf": pairs.map { ["required": $0] }]]
    case .some(let keys, _): return ["anyOf": Self.required(keys)]
    case .missing(let key, let others, _): return ["anyOf": Self.required([key] + others)]
    case .one(let keys, _): return ["oneOf": Self.required(keys)]
    case .needs(let keys, let other, _): return ["anyOf": Self.required([other]) + [Self.none(of: keys)]]
    case .excludes(let others, let keys, _): return ["anyOf": [Self.none(of: others), Self.none(of: keys)]]
    case .belong(let other, let word, let keys, _, let required, _):
      return [
        "if": ["properties": [other: ["const": word]], "required": [other]], "then": ["required": [required]],
        "else": Self.none(of: keys),
      ]
    }
  }

  private static func required(_ keys: [String]) -> [[String: Any]] { keys.map { ["required": [$0]] } }

  private static func none(of keys: [String]) -> [String: Any] {
    ["properties": Dictionary(uniqueKeysWithValues: keys.map { ($0, false) })]
  }
}

/// Regular expressions (ECMA-262) that texts with numbers in a range match.
enum ConfigurationPattern {
  /// `100/s`, `1000/m` or `5/h`, from one in an hour on.
  static func rate(upTo perSecond: Int) -> String {
    let forms = [("s", 1), ("m", 60), ("h", 3600)].map { unit, seconds in
      "(?=[0-9]+/)(?=\(atLeast("1"))/)\(atMost("\(perSecond * seconds)"))/\(unit)"
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
