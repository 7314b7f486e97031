import Synchronization
import WeirCurl

extension Request {
  /// The credential that answers a challenge by the server; nil: the session's
  /// ``SessionConfiguration/urlCredentialStorage`` supplies it.
  public var credential: URLCredential? { fields.withLock { $0.credential } }

  /// Answers a challenge by Basic or Digest (RFC 7617, RFC 7616) with a user name and password; see
  /// ``authenticate(with:)``.
  ///
  /// `persistence`: The credential's persistence; weir itself stores no credential.
  @discardableResult
  public func authenticate(
    username: String, password: String, persistence: URLCredential.Persistence = .forSession
  ) -> Self {
    authenticate(with: URLCredential(user: username, password: password, persistence: persistence))
  }

  /// Answers a challenge by Basic or Digest with this credential, once. If it is refused, that response is delivered.
  ///
  /// The credential is not sent before a challenge, nor to another origin after a redirect, nor if the request has an
  /// Authorization field of its own. As an answer sends the body a second time, a request with a stream as its body
  /// answers no challenge. Takes effect from the next attempt.
  @discardableResult
  public func authenticate(with credential: URLCredential) -> Self {
    change(\.credential) { _ in credential }
    return self
  }
}

extension TransferCredential {
  /// Nil if the credential has no user name, as a certificate has none.
  init?(_ credential: URLCredential) {
    guard let user = credential.user else { return nil }
    self.init(user: user, password: credential.password ?? "")
  }
}
