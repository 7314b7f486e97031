public import Weir

/// Why metrics could not be pushed. Its description says what to change.
public struct PushError: Error, Sendable, CustomStringConvertible {
  /// What went wrong, in kinds that a program can tell apart.
  @nonexhaustive
  public enum Code: String, Sendable {
    /// ``Pushgateway/url`` is no HTTP URL.
    case invalidURL
    /// The job is empty, or a label's name is none.
    case invalidGroup
    /// The gateway could not be asked, or gave no answer: ``PushError/underlyingError`` says why.
    case unreachable
    /// The gateway said no, with ``PushError/statusCode``: most often for metrics that contradict those of another group.
    case refused
  }

  /// What went wrong.
  public let code: Code
  public let description: String
  /// With ``Code/refused``: the status of the gateway's answer.
  public let statusCode: Int?
  /// With ``Code/unreachable``: the client's own error.
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

  /// - Parameter answer: the gateway's words, of which the first kilobyte is kept.
  static func refused(status: Int, answer: some Collection<UInt8>) -> PushError {
    let words = String(decoding: answer.prefix(1024), as: UTF8.self)
    let line = words.split(whereSeparator: \.isNewline).joined(separator: " ")
    return PushError(
      .refused, "the Pushgateway answered \(status)\(line.isEmpty ? "" : ": \(line)")", statusCode: status)
  }
}
