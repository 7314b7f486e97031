import Foundation
import Weir
import WeirHTTP

// The forms of values in OpenTelemetry's variables.

extension TelemetryEnvironment {
  /// The limits of times in seconds, of keys of the configuration too.
  package static let times = 0.001...3600.0
  /// The limits of a queue's length, and of a batch.
  package static let counts = 1...1_000_000

  static func boolean(_ text: String) throws(Refusal) -> Bool {
    switch text.lowercased() {
    case "true": true
    case "false": false
    default: throw .warning("must be true or false; false is taken")
    }
  }

  /// A time, which variables have in milliseconds.
  static func seconds(_ text: String) throws(Refusal) -> Double {
    guard let milliseconds = Int(text), times.contains(Double(milliseconds) / 1000) else {
      throw .warning("must be a time in milliseconds, 1 to 3600000; the default is taken")
    }
    return Double(milliseconds) / 1000
  }

  static func count(_ text: String) throws(Refusal) -> Int {
    guard let count = Int(text), counts.contains(count) else {
      throw .warning("must be \(counts.lowerBound) to \(counts.upperBound); the default is taken")
    }
    return count
  }

  static func word<Word: RawRepresentable<String> & CaseIterable>(_ text: String) throws(Refusal) -> Word {
    guard let word = Word(rawValue: text.lowercased()) else {
      throw .warning("must be \(Word.allCases.map(\.rawValue).joined(separator: " or ")); the default is taken")
    }
    return word
  }

  /// The path of a file that can be read.
  static func file(_ path: String) throws(Refusal) -> String {
    guard FileManager.default.isReadableFile(atPath: path) else { throw .problem("must name a file that can be read") }
    return path
  }

  static func check(url text: String) throws(Refusal) {
    if let problem = OTLPEndpoint.problem(url: text) { throw .problem(problem) }
    if URL(string: text)?.port == 4317 { throw .warning("has the port of gRPC; OTLP over HTTP is most often at 4318") }
  }

  static func checkPropagators(_ text: String) throws(Refusal) {
    let names = list(text)
    guard names.contains("tracecontext") else {
      throw .problem("must have tracecontext, by which weir reads and writes traces; baggage passes as it is")
    }
    if let other = names.first(where: { !["tracecontext", "baggage"].contains($0) }) {
      throw .warning("has \(quoted(other)), which weir neither reads nor writes")
    }
  }

  /// Fields as `api-key=secret,other=value`, with values in percent-encoding.
  static func headers(_ text: String) throws(Refusal) -> [String: Secret] {
    guard let pairs = pairs(text) else {
      throw .problem("must be a list such as api-key=secret,other=value, in percent-encoding where needed")
    }
    var headers: [String: Secret] = [:]
    for (name, value) in pairs {
      if let problem = OTLPEndpoint.problem(header: name) { throw .problem(problem) }
      guard FieldSyntax.isValue(value.utf8) else {
        throw .problem("must have values without control characters and blanks at their ends")
      }
      headers[name] = Secret(value)
    }
    return headers
  }

  /// The elements of a list of names and values, in the form of `baggage`; nil if it is malformed.
  static func pairs(_ text: String) -> [(String, String)]? {
    var pairs: [(String, String)] = []
    for element in text.split(separator: ",") {
      let blank = CharacterSet.whitespaces
      if element.trimmingCharacters(in: blank).isEmpty { continue }
      let parts = element.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let name = parts[0].trimmingCharacters(in: blank).removingPercentEncoding,
        let value = parts[1].trimmingCharacters(in: blank).removingPercentEncoding, !name.isEmpty
      else { return nil }
      pairs.append((name, value))
    }
    return pairs
  }

  static func list(_ text: String) -> [String] {
    text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }.filter { !$0.isEmpty }
  }

  /// A word of a list, fit to be shown.
  static func quoted(_ word: String) -> String { "\"\(TelemetryText.shown(word.utf8, atMost: 40))\"" }
}

/// Other people's text, made fit for log lines.
enum TelemetryText {
  /// The first octets, with a question mark in place of what is neither a blank nor visible in ASCII.
  static func shown(_ octets: some Collection<UInt8>, atMost count: Int) -> String {
    String(decoding: octets.prefix(count).map { (0x20...0x7e).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }
}
