import Foundation

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
    contentType: String?, acceptable: some Sequence<String>, isBodyEmpty: Bool
  ) -> Failure? {
    if isBodyEmpty { return nil }
    let accepted = Array(acceptable)
    let patterns = accepted.lazy.compactMap { MIMEType($0) }
    guard let contentType, let type = MIMEType(contentType) else {
      if patterns.contains(where: \.isWildcard) { return nil }
      return contentType.map {
        .unacceptableContentType(acceptableContentTypes: accepted.sorted(), responseContentType: $0)
      } ?? .missingContentType(acceptableContentTypes: accepted.sorted())
    }
    if patterns.contains(where: { $0.matches(type) }) { return nil }
    return .unacceptableContentType(acceptableContentTypes: accepted.sorted(), responseContentType: contentType)
  }

  /// The content type of a downloaded file: there must be a file whose size can be read.
  package static func failure(
    contentType: String?, acceptable: some Sequence<String>, fileURL: URL?
  ) -> Failure? {
    guard let fileURL else { return .dataFileNil }
    guard let size = try? FileManager.default.attributesOfItem(atPath: fileURL.path)[.size] as? NSNumber else {
      return .dataFileReadFailed(at: fileURL)
    }
    return failure(contentType: contentType, acceptable: acceptable, isBodyEmpty: size.int64Value == 0)
  }

  /// What an `Accept` value accepts; `*/*` without one (RFC 9110 section 12.5.1).
  package static func acceptableTypes(accept: String?) -> [String] {
    guard let accept else { return ["*/*"] }
    return accept.split(separator: ",").map { String($0.drop(while: \.isWhitespace)) }
  }
}
