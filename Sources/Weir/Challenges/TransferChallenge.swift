import WeirIO

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

extension URLCredentialStorage {
  /// The default credential for a protection space. Foundation on Linux finds a credential only by the very object that
  /// it was stored by: equal spaces are not equal there.
  func defaultCredential(like space: URLProtectionSpace) -> URLCredential? {
    spaces(like: space).lazy.compactMap { self.defaultCredential(for: $0) }.first
  }

  /// All credentials for a protection space, sorted by user.
  func allCredentials(like space: URLProtectionSpace) -> [URLCredential] {
    var byUser: [String: URLCredential] = [:]
    for space in spaces(like: space) { byUser.merge(allCredentials[space] ?? [:]) { first, _ in first } }
    return byUser.sorted { $0.key < $1.key }.map(\.value)
  }

  private func spaces(like space: URLProtectionSpace) -> [URLProtectionSpace] {
    allCredentials.keys.filter { $0.covers(space) }
  }
}

extension URLProtectionSpace {
  /// The Basic space of the URL's host, whose realm is the host, in lower case. A credential that is stored there is for a
  /// server that names no realm. Nil without a host.
  convenience init?(basicOf url: URL) {
    guard let host = url.host.map({ CanonicalHost($0).withoutFinalDot }) else { return nil }
    self.init(
      host: host, port: url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80), protocol: url.scheme,
      realm: host, authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
  }

  /// Whether a credential stored for this space applies to the other one. A space with the default method covers both
  /// schemes.
  func covers(_ other: URLProtectionSpace) -> Bool {
    CanonicalHost(host).withoutFinalDot == CanonicalHost(other.host).withoutFinalDot && port == other.port
      && isProxy() == other.isProxy()
      && `protocol`?.lowercased() == other.protocol?.lowercased() && realm == other.realm
      && [other.authenticationMethod, NSURLAuthenticationMethodDefault].contains(authenticationMethod)
  }
}
