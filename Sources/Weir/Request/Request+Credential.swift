import Synchronization
import WeirCurl

extension Request {
  /// What a challenge of the server's is answered with; nil: what the session's
  /// ``SessionConfiguration/urlCredentialStorage`` has for it.
  public var credential: URLCredential? { fields.withLock { $0.credential } }

  /// Answers a challenge by Basic or Digest (RFC 7617, RFC 7616) with these; see ``authenticate(with:)``.
  ///
  /// `persistence`: Of the credential; weir itself keeps none.
  @discardableResult
  public func authenticate(
    username: String, password: String, persistence: URLCredential.Persistence = .forSession
  ) -> Self {
    authenticate(with: URLCredential(user: username, password: password, persistence: persistence))
  }

  /// Answers a challenge by Basic or Digest with this credential: once, and if it is refused, that response is delivered.
  ///
  /// It is not sent before a challenge, nor to another origin that a redirect leads to, nor when the request has an
  /// Authorization of its own. As the body is then sent twice, a stream's request answers none. Counts from the next
  /// attempt.
  @discardableResult
  public func authenticate(with credential: URLCredential) -> Self {
    change(\.credential) { _ in credential }
    return self
  }
}

extension TransferCredential {
  /// Nil for one that is no user's name and password.
  init?(_ credential: URLCredential) {
    guard let user = credential.user else { return nil }
    self.init(user: user, password: credential.password ?? "")
  }
}
