import WeirHTTP
import WeirTransport

/// A path of a route with a name for metrics: `/users/{id}`, or `GET /users/{id}` for one method.
package struct OperationPattern: Sendable, Hashable {
  /// The text as it was written, which is the name.
  package let name: String
  /// Empty for all methods.
  let method: String
  let path: PathMatch

  package init(_ text: String) {
    name = text
    let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    method = words.count == 2 ? String(words[0]) : ""
    path = .pattern(Self.pattern(words.last ?? ""))
  }

  /// The path with `*` in place of `{id}`.
  private static func pattern(_ path: some StringProtocol) -> String {
    path.split(separator: "/", omittingEmptySubsequences: false).map { isName($0) ? "*" : $0 }.joined(separator: "/")
  }

  /// Whether a segment is a name in braces.
  private static func isName(_ segment: some StringProtocol) -> Bool {
    guard segment.utf8.count > 2, segment.first == "{", segment.last == "}" else { return false }
    return segment.dropFirst().dropLast().utf8.allSatisfy { octet in
      octet.isLetterOrDigit || [UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(octet)
    }
  }

  /// The reason why the text is no valid pattern; nil if it is one.
  static func problem(_ text: String) -> String? {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count <= 2 else { return "must be a path without blanks, or a method, a blank and such a path" }
    if words.count == 2 {
      if words[0] == "*" { return "must name a method before the blank; without one, all methods count" }
      if let problem = RegisteredMethod.problem(String(words[0])) { return problem }
    }
    guard text.utf8.count <= NamedOperation.longest else {
      return "must be at most \(NamedOperation.longest) bytes long, as it is a label of metrics"
    }
    let path = pattern(words.last ?? "")
    if path.contains("{") || path.contains("}") {
      return "must have names in braces as whole segments, of letters, digits, _, - and . only, such as /users/{id}"
    }
    return PathMatch.problem(ofPattern: path)
  }

  /// Whether a route with this match may have such requests.
  func meets(_ match: RouteMatch) -> Bool {
    path.meets(match.path) && (method.isEmpty || match.methods.isEmpty || match.methods.contains(method))
  }

  /// The same text for patterns that take the same requests.
  var requests: String { "\(method) \(path)" }

  /// The order in which patterns are tried, the lower one first: the order of routes (``RouteMatch/precedence(at:)``).
  fileprivate func precedence(at order: Int) -> (Int, Int, Int, Int) {
    (path.isExact ? 0 : 1, -path.weight, method.isEmpty ? 1 : 0, order)
  }
}

/// The operations of a route, prepared so that the most specific one is found in a walk along the path. Immutable.
final class RouteOperations: Sendable {
  /// In the order of their precedence, each with its method as octets.
  private let operations: [(operation: NamedOperation, method: [UInt8])]
  private let paths: PathTree

  /// Nil without any.
  init?(_ patterns: [OperationPattern]) {
    if patterns.isEmpty { return nil }
    let order = patterns.enumerated().sorted {
      $0.element.precedence(at: $0.offset) < $1.element.precedence(at: $1.offset)
    }
    operations = order.map { (NamedOperation($0.element.name), Array($0.element.method.utf8)) }
    paths = PathTree(order.enumerated().map { ($0.element.element.path, $0.offset) })
  }

  func find(_ method: Span<UInt8>, _ path: Span<UInt8>) -> NamedOperation? {
    let place = paths.first(of: path) { place in
      let wanted = operations[place].method
      return wanted.isEmpty || wanted.span.equals(method)
    }
    return place.map { operations[$0].operation }
  }
}
