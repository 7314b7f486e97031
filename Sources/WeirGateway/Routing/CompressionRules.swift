import WeirHTTP

/// A route's rules about content codings: which bodies get one, and which lose theirs. A value.
package struct CompressionRules: Sendable, Equatable {
  /// Whether responses without a coding are sent in gzip to clients that accept it.
  package var compressesResponses = false
  /// The types of responses that may be compressed.
  package var types = MediaTypePattern.compressible
  /// Bodies of a known length are compressed from this length on.
  package var minimumBytes = 1024
  /// zlib's level: 1 is the fastest, 9 makes the smallest bodies.
  package var level = 4
  /// Whether gzip and deflate are removed for clients that don't accept them.
  package var decodesResponses = false
  /// Whether gzip and deflate are removed from requests.
  package var decodesRequests = false

  static let maximumTypes = 100
  static let minimumBytesRange = 1...1 << 30
  static let levels = 1...9

  /// Whether nothing is ever coded or decoded.
  package var isIdle: Bool { !compressesResponses && !decodesResponses && !decodesRequests }

  /// Whether a response of this type may be compressed.
  ///
  /// - Parameter field: The value of Content-Type.
  func compresses(type field: UnsafeRawBufferPointer) -> Bool {
    var parts = field.parameterParts
    guard let type = parts.next(), !type.isEventStream else { return false }
    return types.contains { $0.matches(type) }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether a media type without parameters is that of Server-Sent Events.
  var isEventStream: Bool { spells("text/event-stream") }
}

/// A media type, or several of them: `application/json`, `text/*`, `application/*+json`.
package struct MediaTypePattern: Sendable, Hashable, CustomStringConvertible {
  /// The octets before and behind the star, in lower case; without a star, the whole type and nil.
  private let head: [UInt8]
  private let tail: [UInt8]?

  /// Nil if the text is no such pattern, or one of all types.
  package init?(_ text: String) {
    let text = FieldSyntax.lowercased(text)
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, FieldSyntax.isToken(String(parts[0])), FieldSyntax.isToken(String(parts[1])),
      !parts[0].contains("*")
    else { return nil }
    guard let star = text.firstIndex(of: "*") else {
      head = Array(text.utf8)
      tail = nil
      return
    }
    let suffix = text[text.index(after: star)...]
    guard parts[1].first == "*", suffix.isEmpty || suffix.first == "+", !suffix.contains("*") else { return nil }
    head = Array(text[..<star].utf8)
    tail = Array(suffix.utf8)
  }

  package var description: String {
    String(decoding: tail.map { head + [UInt8(ascii: "*")] + $0 } ?? head, as: UTF8.self)
  }

  /// Text, and the types of JSON, JavaScript, XML and SVG.
  package static let compressible: [MediaTypePattern] = [
    "text/*", "application/json", "application/*+json", "application/javascript", "application/xml",
    "application/*+xml", "image/svg+xml",
  ].compactMap(MediaTypePattern.init)

  /// - Parameter type: A type without parameters.
  func matches(_ type: UnsafeRawBufferPointer) -> Bool {
    guard let tail else { return head.withUnsafeBytes { $0.equalsIgnoringCase(type) } }
    guard type.count > head.count + tail.count else { return false }
    return head.withUnsafeBytes { $0.equalsIgnoringCase(type.octets(0..<head.count)) }
      && tail.withUnsafeBytes { $0.equalsIgnoringCase(type.octets(type.count - tail.count..<type.count)) }
  }
}
