import WeirHTTP

/// The rules by which a response is acceptable. Each returns the reason for refusing it; nil if it is acceptable.
package enum ResponseValidation {
  package typealias Failure = WeirError.ResponseValidationFailureReason

  /// The status codes that `validate()` accepts.
  package static let defaultStatusCodes = 200..<300

  /// The reason for refusing the status; nil if it is one of those given.
  package static func failure(status: Int, acceptable: some Sequence<Int>) -> Failure? {
    acceptable.contains(status) ? nil : .unacceptableStatusCode(code: status)
  }

  /// The reason for refusing the content type; nil if it is one of those given.
  ///
  /// An empty body passes whatever its type. A pattern that is not a media type matches nothing.
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

  /// The reason for refusing the content type; nil if the `Accept` value asks for it or is nil (RFC 9110 section
  /// 12.5.1).
  package static func failure(
    contentType: @autoclosure () -> String?, accept: String?, isBodyEmpty: @autoclosure () -> Bool
  ) -> Failure? {
    guard let accept, !isBodyEmpty() else { return nil }
    return failure(contentType: contentType(), acceptable: acceptableTypes(accept: accept), isBodyEmpty: false)
  }

  /// The reason for refusing a download by a rule, which gets whether the file is empty. A download without a file, or
  /// with a file of unknown size, is refused in any case.
  package static func failure(
    ofFile fileURL: URL?, size: Int64?, _ rule: (_ isBodyEmpty: Bool) -> Failure?
  ) -> Failure? {
    guard let fileURL else { return .dataFileNil }
    guard let size else { return .dataFileReadFailed(at: fileURL) }
    return rule(size == 0)
  }

  package static func acceptableTypes(accept: String) -> [String] {
    accept.withOctets { $0.quotedListElements.filter { !$0.isEmpty }.map { FieldSyntax.text($0) } }
  }
}

/// A media type without its parameters, or a pattern with `*` for one or both halves (RFC 9110 section 12.5.1).
package struct MIMEType: Sendable, Hashable {
  package let type: String
  package let subtype: String

  /// Takes the text before `;`, without blanks and in lower case; nil if that is not `type/subtype`.
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

  /// The text before the parameters, unchanged.
  static func name(in text: String) -> String {
    text.withOctets { text in
      var parts = text.parameterParts
      return parts.next().map { FieldSyntax.text($0) } ?? ""
    }
  }

  /// Whether the pattern accepts every response, even one without a type.
  fileprivate var isWildcard: Bool { type == "*" && subtype == "*" }

  package func matches(_ other: MIMEType) -> Bool {
    (type == "*" || type == other.type) && (subtype == "*" || subtype == other.subtype)
  }
}
