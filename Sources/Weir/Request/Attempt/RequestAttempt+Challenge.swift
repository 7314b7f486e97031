import WeirCurl
import WeirHTTP
import WeirIO

/// Challenges by servers and proxies: the credentials that answer them, and the events about them.
extension RequestAttempt {
  /// libcurl is answering a challenge with the credential that the hop was given.
  func attempt(_ attempt: Attempt, didAnswer head: ResponseHead) {
    core.cookies?.keep(head, of: hop.request)
    announce(LazyHTTPResponse(head, url: hop.url), proposed: head.status == 407 ? proxyCredential : hop.offered)
    hop.answeredChallenges += 1
  }

  /// Whether the response is a challenge that the credential storage answers. If not, it is a response like any other.
  func answerChallenge(_ response: LazyHTTPResponse) -> Bool {
    guard response.statusCode == 401 || response.statusCode == 407 else { return false }
    let stored = storedCredential(for: response)
    announce(response, proposed: stored ?? (response.statusCode == 407 ? proxyCredential : hop.offered))
    guard let stored else { return false }
    hop.answeredChallenges += 1
    hop.stored = stored
    repeatHop(with: hop.request.urlRequest)
    return true
  }

  /// The credential that answers a challenge of the present hop.
  func credential(for body: TransferBody) -> TransferCredential? {
    guard body.isRepeatable else { return nil }
    return hop.offered.flatMap(TransferCredential.init)
  }

  /// The storage's credential for the challenge. The request is sent again with it, as only the challenge has the
  /// realm.
  private func storedCredential(for response: LazyHTTPResponse) -> URLCredential? {
    guard response.statusCode == 401, let storage = core.configuration.urlCredentialStorage, hop.offered == nil,
      attempt.transfer?.mayBeAuthenticated == true, let space = protectionSpace(of: response)
    else { return nil }
    let credential = storage.defaultCredential(like: space) ?? credentialOfHost(in: storage, space)
    return credential.flatMap { TransferCredential($0) == nil ? nil : $0 }
  }

  /// The credential for a Basic challenge without a realm: the one stored with the host as its realm, as
  /// ``Request/cURLDescription(redactingSecrets:)`` shows it.
  private func credentialOfHost(in storage: URLCredentialStorage, _ space: URLProtectionSpace) -> URLCredential? {
    guard space.realm == nil, space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic, let url = hop.url
    else { return nil }
    return URLProtectionSpace(basicOf: url).flatMap { storage.defaultCredential(like: $0) }
  }

  private var proxyCredential: URLCredential? {
    switch core.configuration.proxy {
    case .http(_, _, let credential), .socks5(_, _, let credential): credential
    case .none, .environment: nil
    }
  }

  private func announce(_ response: LazyHTTPResponse, proposed: URLCredential?) {
    guard context.monitors.wants(.challenges), let session = context.session,
      let space = protectionSpace(of: response)
    else { return }
    let challenge = TransferChallenge(
      protectionSpace: space, previousFailureCount: hop.answeredChallenges, proposedCredential: proposed,
      failureResponse: response.response)
    context.monitors.urlSession(session, task: task, didReceive: challenge)
  }

  /// Nil if the response has no challenge that could be answered.
  private func protectionSpace(of response: LazyHTTPResponse) -> URLProtectionSpace? {
    guard let challenge = HTTPChallenge(response.head), let url = hop.url else { return nil }
    let method =
      challenge.scheme == .digest ? NSURLAuthenticationMethodHTTPDigest : NSURLAuthenticationMethodHTTPBasic
    if response.statusCode == 407, case .http(let host, let port, _) = core.configuration.proxy {
      return URLProtectionSpace(
        proxyHost: host, port: port, type: NSURLProtectionSpaceHTTPProxy, realm: challenge.realm,
        authenticationMethod: method)
    }
    let scheme = url.scheme?.lowercased() ?? "http"
    return URLProtectionSpace(
      host: CanonicalHost(url.host ?? "").withoutFinalDot, port: url.port ?? (scheme == "https" ? 443 : 80),
      protocol: scheme, realm: challenge.realm, authenticationMethod: method)
  }
}

extension TransferBody {
  /// Whether the body is certain to be available a second time.
  var isRepeatable: Bool { if case .pulled = self { false } else { true } }
}
