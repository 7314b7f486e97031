/// A server's, or a proxy's, demand for credentials (RFC 9110 section 11.3), by Basic or Digest.
public struct TransferChallenge: Sendable {
  /// Who demands, by which scheme, for which realm; of several schemes the strongest.
  public let protectionSpace: URLProtectionSpace
  /// Answers to earlier challenges of this hop, which the sender did not take.
  public let previousFailureCount: Int
  /// What it is answered with, or was in vain; nil: there is nothing, and the response is delivered.
  public let proposedCredential: URLCredential?
  /// The 401 or 407.
  public let failureResponse: HTTPURLResponse?

  /// Takes what is known of a challenge.
  public init(
    protectionSpace: URLProtectionSpace, previousFailureCount: Int, proposedCredential: URLCredential?,
    failureResponse: HTTPURLResponse?
  ) {
    self.protectionSpace = protectionSpace
    self.previousFailureCount = previousFailureCount
    self.proposedCredential = proposedCredential
    self.failureResponse = failureResponse
  }
}
