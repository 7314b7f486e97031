public import Weir

/// The reason why metrics could not be pushed. Its description says what to change.
public struct PushError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error that a program can tell apart.
  @nonexhaustive
  public enum Code: String, Sendable {
    /// ``Pushgateway/url`` is not an HTTP URL.
    case invalidURL
    /// The job is empty, or a label's name is invalid.
    case invalidGroup
    /// The gateway could not be reached, or gave no answer: ``PushError/underlyingError`` says why.
    case unreachable
    /// The gateway refused the push with ``PushError/statusCode``, most often because the metrics contradict another
    /// group's.
    case refused
  }

  /// The kind of error.
  public let code: Code
  public let description: String
  /// The status of the gateway's answer, with ``Code/refused``.
  public let statusCode: Int?
  /// The client's own error, with ``Code/unreachable``.
  public let underlyingError: WeirError?

  private init(_ code: Code, _ description: String, statusCode: Int? = nil, underlyingError: WeirError? = nil) {
    self.code = code
    self.description = description
    self.statusCode = statusCode
    self.underlyingError = underlyingError
  }

  static let invalidURL = PushError(.invalidURL, "a Pushgateway's URL begins with http:// or https:// and names a host")

  static func invalidGroup(_ problem: String) -> PushError {
    PushError(.invalidGroup, problem)
  }

  static func unreachable(_ error: WeirError) -> PushError {
    PushError(.unreachable, "the Pushgateway could not be asked: \(error)", underlyingError: error)
  }

  /// - Parameter answer: The body of the gateway's answer, of which the first kilobyte is kept.
  static func refused(status: Int, answer: some Collection<UInt8>) -> PushError {
    let words = String(decoding: answer.prefix(1024), as: UTF8.self)
    let line = words.split(whereSeparator: \.isNewline).joined(separator: " ")
    return PushError(
      .refused, "the Pushgateway answered \(status)\(line.isEmpty ? "" : ": \(line)")", statusCode: status)
  }
}
