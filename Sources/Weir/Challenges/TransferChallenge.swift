/// A server's or proxy's demand for credentials by Basic or Digest (RFC 9110 section 11.3).
public struct TransferChallenge: Sendable {
  /// The host that demands credentials, with the scheme and the realm; the strongest of several schemes.
  public let protectionSpace: URLProtectionSpace
  /// The number of earlier challenges of this hop that were answered in vain.
  public let previousFailureCount: Int
  /// The credential to answer with, or the one that was refused. Nil if there is none; the response is delivered then.
  public let proposedCredential: URLCredential?
  /// The 401 or 407 response.
  public let failureResponse: HTTPURLResponse?

  /// Creates a challenge.
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
