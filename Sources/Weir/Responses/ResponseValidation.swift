import WeirHTTP

/// The rules by which a response is acceptable; each gives the reason why it is not, or nil.
package enum ResponseValidation {
  package typealias Failure = WeirError.ResponseValidationFailureReason

  /// What `validate()` accepts as a status.
  package static let defaultStatusCodes = 200..<300

  /// Whether the status is one of those given.
  package static func failure(status: Int, acceptable: some Sequence<Int>) -> Failure? {
    acceptable.contains(status) ? nil : .unacceptableStatusCode(code: status)
  }

  /// Whether the content type is one of those given.
  ///
  /// An empty body passes whatever its type. Patterns that are no media types match nothing.
  package static func failure(
    contentType: @autoclosure () -> String?, acceptable: some Sequence<String>, isBodyEmpty: Bool
  ) -> Failure? {
    if isBodyEmpty { return nil }
    let accepted = Array(acceptable)
    let patterns = accepted.compactMap { MIMEType($0) }
    if patterns.contains(where: \.isWildcard) { return nil }
    guard let text = contentType() else {
      return .missingContentType(acceptableContentTypes: accepted.sorted())
    }
    if let type = MIMEType(text), patterns.contains(where: { $0.matches(type) }) { return nil }
    return .unacceptableContentType(
      acceptableContentTypes: accepted.sorted(), responseContentType: MIMEType.name(in: text))
  }

  /// Whether the content type is one that the request's `Accept` value asks for; without one any is
  /// (RFC 9110 section 12.5.1).
  package static func failure(
    contentType: @autoclosure () -> String?, accept: String?, isBodyEmpty: @autoclosure () -> Bool
  ) -> Failure? {
    guard let accept, !isBodyEmpty() else { return nil }
    return failure(contentType: contentType(), acceptable: acceptableTypes(accept: accept), isBodyEmpty: false)
  }

  /// The failure of a download by a rule, which is told whether the file is empty. Without a file, or if its size is not
  /// known, the download fails in any case.
  package static func failure(
    ofFile fileURL: URL?, size: Int64?, _ rule: (_ isBodyEmpty: Bool) -> Failure?
  ) -> Failure? {
    guard let fileURL else { return .dataFileNil }
    guard let size else { return .dataFileReadFailed(at: fileURL) }
    return rule(size == 0)
  }

  /// The media ranges of an `Accept` value.
  package static func acceptableTypes(accept: String) -> [String] {
    accept.withOctets { $0.quotedListElements.filter { !$0.isEmpty }.map { FieldSyntax.text($0) } }
  }
}

/// A media type without its parameters, or a pattern with `*` for one or both halves (RFC 9110 section 12.5.1).
package struct MIMEType: Sendable, Hashable {
  package let type: String
  package let subtype: String

  /// Takes what stands before `;`, without blanks and in lower case; nil when that is no `type/subtype`.
  package init?(_ text: String) {
    let halves = text.withOctets { text -> (String, String)? in
      var parts = text.parameterParts
      guard let name = parts.next(), let slash = name.firstIndex(of: .slash) else { return nil }
      return (
        FieldSyntax.lowercased(name.octets(0..<slash).trimmed),
        FieldSyntax.lowercased(name.octets(slash + 1..<name.count).trimmed)
      )
    }
    guard let halves, !halves.0.isEmpty, !halves.1.isEmpty else { return nil }
    (type, subtype) = halves
  }

  /// What stands before the parameters, as it is written.
  static func name(in text: String) -> String {
    text.withOctets { text in
      var parts = text.parameterParts
      return parts.next().map { FieldSyntax.text($0) } ?? ""
    }
  }

  /// Whether the pattern accepts everything, also a response without a type.
  package var isWildcard: Bool { type == "*" && subtype == "*" }

  /// Whether this pattern accepts the type.
  package func matches(_ other: MIMEType) -> Bool {
    (type == "*" || type == other.type) && (subtype == "*" || subtype == other.subtype)
  }
}
