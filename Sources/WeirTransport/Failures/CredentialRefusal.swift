/// Why a request has no credential, without which it is not sent.
package struct CredentialRefusal: Hashable, Sendable {
  /// The name of the credential.
  package let credential: String
  package let reason: AdaptationFailure
  /// The reason in a sentence, without secrets.
  package let text: String
  /// Seconds until there may be one; 0 if that is not known.
  package let retryAfter: Double

  package init(credential: String, reason: AdaptationFailure, text: String, retryAfter: Double) {
    self.credential = credential
    self.reason = reason
    self.text = text
    self.retryAfter = retryAfter
  }
}
