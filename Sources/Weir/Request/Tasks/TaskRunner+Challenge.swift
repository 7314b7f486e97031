import WeirCurl
import WeirHTTP
import WeirIO

/// Challenges by servers and proxies: the credentials that answer them, and the events about them.
extension TaskRunner {
  /// libcurl is answering a proxy's challenge with the proxy's credential.
  func attempt(_ attempt: Attempt, didAnswer head: ResponseHead) {
    core.cookies?.keep(head, of: hop.request)
    let response = LazyHTTPResponse(head, url: hop.url)
    announce(protectionSpace(of: response, HTTPChallenge(head, hasBody: hasBody)), response, proposed: proxyCredential)
    hop.answeredChallenges += 1
  }

  /// Whether the response is a server's challenge that is answered: the hop is repeated with a credential. If not, it is
  /// a response like any other.
  func answerChallenge(_ response: LazyHTTPResponse) -> Bool {
    guard response.statusCode == 401 || response.statusCode == 407 else { return false }
    let challenge = HTTPChallenge(response.head, hasBody: hasBody)
    let space = protectionSpace(of: response, challenge)
    // libcurl has answered a proxy's challenge already, if it could.
    guard response.statusCode == 401 else {
      announce(space, response, proposed: proxyCredential)
      return false
    }
    let credential = hop.offered ?? space.flatMap(storedCredential)
    announce(space, response, proposed: credential)
    let isStale = isStale(challenge)
    guard mayAnswer || isStale, let credential, let user = credential.user, let target = hop.request.target,
      let answer = challenge?.answer(
        user: user, password: credential.password ?? "", method: hop.request.method, target: target, hasBody: hasBody)
    else { return false }
    hop.answeredChallenges += 1
    if hop.offered == nil { hop.stored = credential }
    repeatHop(with: hop.request.urlRequest)
    hop.authorization = answer
    hop.isAnswerRenewed = isStale
    return true
  }

  /// Whether the server refuses only the nonce of the last answer, as it is too old (RFC 7616 section 3.3). Its new nonce
  /// is answered once.
  private func isStale(_ challenge: HTTPChallenge?) -> Bool {
    guard let stale = challenge?["stale"], hop.authorization != nil, !hop.isAnswerRenewed else { return false }
    return FieldSyntax.isSameName(stale, "true")
  }

  /// Whether the hop's request has a body.
  private var hasBody: Bool { task.countOfBytesExpectedToSend != 0 }

  /// Whether a server's challenge may be answered: the request can be sent again, and has no credential yet, neither by
  /// a field nor in its URL, where libcurl finds it.
  private var mayAnswer: Bool { attempt.transfer?.mayBeAuthenticated == true && hop.url?.user == nil }

  /// The storage's credential for the challenge.
  private func storedCredential(for space: URLProtectionSpace) -> URLCredential? {
    guard mayAnswer, let storage = core.configuration.urlCredentialStorage else { return nil }
    let credential = storage.defaultCredential(like: space) ?? credentialOfHost(in: storage, space)
    return credential.flatMap { $0.user == nil ? nil : $0 }
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

  private func announce(_ space: URLProtectionSpace?, _ response: LazyHTTPResponse, proposed: URLCredential?) {
    guard context.monitors.wants(.challenges), let session = context.session, let space else { return }
    let challenge = TransferChallenge(
      protectionSpace: space, previousFailureCount: hop.answeredChallenges, proposedCredential: proposed,
      failureResponse: response.response)
    context.monitors.urlSession(session, task: task, didReceive: challenge)
  }

  /// Nil if the response has no challenge that could be answered.
  private func protectionSpace(of response: LazyHTTPResponse, _ challenge: HTTPChallenge?) -> URLProtectionSpace? {
    guard let challenge, let url = hop.url else { return nil }
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
