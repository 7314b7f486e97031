import WeirHTTP

/// The paths that a route takes, as segments. They are compared with the normal form of a request's path.
package struct PathMatch: Sendable, Hashable, CustomStringConvertible {
  package enum Segment: Sendable, Hashable {
    case text(String)
    /// One segment that is not empty.
    case any
  }

  package let segments: [Segment]
  /// Whether further segments may follow.
  package let isOpen: Bool

  /// One path.
  package static func exact(_ path: String) -> PathMatch { PathMatch(split(path).map { .text($0) }, isOpen: false) }

  /// The prefix and all paths below it. `/` is every path; a slash at the end makes no difference.
  package static func prefix(_ prefix: String) -> PathMatch {
    let prefix = PathPrefix.normalized(prefix)
    return PathMatch(prefix == "/" ? [] : split(prefix).map { .text($0) }, isOpen: true)
  }

  /// `/users/*/orders/**`: `*` is a segment, and `**` at the end any number of them, which may be none.
  package static func pattern(_ pattern: String) -> PathMatch {
    let texts = split(pattern)
    let isOpen = texts.last == "**"
    return PathMatch((isOpen ? texts.dropLast() : texts).map { $0 == "*" ? .any : .text($0) }, isOpen: isOpen)
  }

  private init(_ segments: [Segment], isOpen: Bool) {
    self.segments = segments
    self.isOpen = isOpen
  }

  private static func split(_ path: String) -> [String] {
    let path =
      RequestPath.withUpperCaseEncoding(Array(path.utf8).span).map { String(decoding: $0, as: UTF8.self) } ?? path
    return path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
  }

  /// Whether only one path matches.
  package var isExact: Bool { !isOpen && !segments.contains(.any) }

  /// Whether all paths below fixed segments match.
  package var isPrefix: Bool { isOpen && !segments.contains(.any) }

  /// The number of octets that every matching path has at fixed places.
  package var octets: Int {
    segments.reduce(0) { sum, segment in
      if case .text(let text) = segment { sum + 1 + text.utf8.count } else { sum + 1 }
    }
  }

  /// How specific the match is: more octets at fixed places, and of as many, no further segments.
  var weight: Int { 2 * octets + (isOpen ? 0 : 1) }

  /// Whether some path matches this and `other`.
  func meets(_ other: PathMatch) -> Bool {
    let isShorter = segments.count < other.segments.count
    guard segments.count == other.segments.count || (isShorter ? isOpen : other.isOpen) else { return false }
    return zip(segments, other.segments).allSatisfy { own, others in
      own == others || own == .any && others != .text("") || others == .any && own != .text("")
    }
  }

  /// Whether all paths of `other` match.
  func covers(_ other: PathMatch) -> Bool {
    let isLongEnough =
      isOpen ? segments.count <= other.segments.count : !other.isOpen && segments.count == other.segments.count
    return isLongEnough
      && zip(segments, other.segments).allSatisfy { own, others in own == others || own == .any && others != .text("") }
  }

  package var description: String {
    let texts = segments.map { segment in
      if case .text(let text) = segment { "/" + text } else { "/*" }
    }
    return texts.joined() + (isOpen ? "/**" : "")
  }

  /// The reason why the text is not a valid pattern; nil if it is one.
  static func problem(ofPattern text: String) -> String? {
    if let problem = PathPrefix.problem(text) { return problem }
    let wildcards = split(text).enumerated().filter { $0.element.contains("*") }
    if wildcards.contains(where: { $0.element != "*" && $0.element != "**" }) {
      return "must have * and ** as whole segments only, such as /users/*/orders"
    }
    let last = split(text).count - 1
    return wildcards.contains { $0.element == "**" && $0.offset < last } ? "must have ** as the last segment only" : nil
  }
}

/// A prefix of paths, on segment boundaries: `/api` matches `/api` and `/api/x`, but not `/apix`.
enum PathPrefix {
  /// The reason why the text is not a valid prefix; nil if it is one.
  static func problem(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.first == UInt8(ascii: "/") else { return "must begin with /" }
    guard bytes.count <= 2048 else { return "must be at most 2048 bytes long" }
    guard !bytes.contains(UInt8(ascii: "?")), !bytes.contains(UInt8(ascii: "#")) else {
      return "must have no query and no fragment"
    }
    guard !text.contains("//") else { return "must have no empty segment (//)" }
    switch RequestPath.normalized(bytes.span) {
    case .refused(let reason): return reason
    case .changed(let path) where path != bytes:
      return "is not in normal form; write \(quoted(String(decoding: path, as: UTF8.self)))"
    case .changed, .unchanged: break
    }
    let isPlain = bytes.allSatisfy {
      OctetSet.segment.contains($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "%")
    }
    return isPlain ? nil : "must hold only characters that URLs allow; percent-encode the others"
  }

  /// The prefix without a slash at its end, which makes no difference: `/api/` is `/api`.
  static func normalized(_ text: String) -> String {
    var text = text[...]
    while text.last == "/", text.utf8.count > 1 { text.removeLast() }
    return String(text)
  }

  /// The prefix as it is put before a path: `/` is empty there.
  static func joinable(_ prefix: String) -> String {
    let prefix = normalized(prefix)
    return prefix == "/" ? "" : prefix
  }
}
