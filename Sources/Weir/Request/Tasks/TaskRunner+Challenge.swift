import WeirCurl
import WeirHTTP
import WeirIO

/// Challenges by servers and proxies: the credentials that answer them, and the events about them.
extension TaskRunner {
  /// Whether the response is a challenge that is answered: the hop is repeated with a credential. If not, it is a response
  /// like any other.
  func answerChallenge(_ response: LazyHTTPResponse) -> Bool {
    guard response.statusCode == 401 || response.statusCode == 407 else { return false }
    let isProxys = response.statusCode == 407
    let challenge = HTTPChallenge(response.head, hasBody: hasBody)
    let space = protectionSpace(of: challenge, isProxys: isProxys)
    let credential = isProxys ? proxyCredential : hop.offered ?? space.flatMap(storedCredential)
    announce(space, response, proposed: credential)
    let isStale = (isProxys ? hop.proxyAnswer : hop.answer).isStale(challenge)
    guard isStale || mayAnswer(proxy: isProxys), let credential, let user = credential.user,
      let target = hop.request.target,
      let answer = challenge?.answer(
        user: user, password: credential.password ?? "", method: hop.request.method, target: target, hasBody: hasBody)
    else { return false }
    hop.answeredChallenges += 1
    if !isProxys, hop.offered == nil { hop.stored = credential }
    let (next, unseen) = (HopAnswer(value: answer, isRenewed: isStale), hop.answer)
    repeatHop(with: hop.request.urlRequest)
    // The server has not seen the answer to its own challenge if the proxy has not let the request pass.
    (hop.answer, hop.proxyAnswer) = isProxys ? (unseen, next) : (next, hop.proxyAnswer)
    return true
  }

  /// Whether the hop's request has a body.
  private var hasBody: Bool { task.countOfBytesExpectedToSend != 0 }

  /// Whether a challenge may be answered: the request can be sent again, and has no credential yet, neither by a field nor,
  /// for a server, in its URL, where libcurl finds it.
  private func mayAnswer(proxy isProxys: Bool) -> Bool {
    attempt.transfer?.mayBeAuthenticated(byProxy: isProxys) == true && (isProxys || hop.url?.user == nil)
  }

  /// The storage's credential for the challenge.
  private func storedCredential(for space: URLProtectionSpace) -> URLCredential? {
    guard mayAnswer(proxy: false), let storage = core.configuration.urlCredentialStorage else { return nil }
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

  /// The credential of the proxy that has taken the request. No other 407 is a proxy's.
  private var proxyCredential: URLCredential? {
    attempt.transfer?.forwardingProxy == nil ? nil : core.configuration.proxy.credential
  }

  private func announce(_ space: URLProtectionSpace?, _ response: LazyHTTPResponse, proposed: URLCredential?) {
    guard context.monitors.wants(.challenges), let session = context.session, let space else { return }
    let challenge = TransferChallenge(
      protectionSpace: space, previousFailureCount: hop.answeredChallenges, proposedCredential: proposed,
      failureResponse: response.response)
    context.monitors.urlSession(session, task: task, didReceive: challenge)
  }

  /// Nil if the response has no challenge that could be answered.
  private func protectionSpace(of challenge: HTTPChallenge?, isProxys: Bool) -> URLProtectionSpace? {
    guard let challenge, let url = hop.url else { return nil }
    let method =
      challenge.scheme == .digest ? NSURLAuthenticationMethodHTTPDigest : NSURLAuthenticationMethodHTTPBasic
    if isProxys, let proxy = attempt.transfer?.forwardingProxy {
      return URLProtectionSpace(
        proxyHost: proxy.host, port: proxy.port,
        type: proxy.kind == .https ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy,
        realm: challenge.realm, authenticationMethod: method)
    }
    let scheme = url.scheme?.lowercased() ?? "http"
    return URLProtectionSpace(
      host: CanonicalHost(url.host ?? "").withoutFinalDot, port: url.port ?? (scheme == "https" ? 443 : 80),
      protocol: scheme, realm: challenge.realm, authenticationMethod: method)
  }
}

/// The answer to a challenge of a hop.
struct HopAnswer {
  /// The value of the field with the credential; nil before a challenge.
  var value: String?
  /// Whether it answers a second challenge, as the first nonce was too old.
  var isRenewed = false

  /// Whether the challenge refuses only the nonce of this answer, as it is too old (RFC 7616 section 3.3). Its new nonce is
  /// answered once.
  func isStale(_ challenge: HTTPChallenge?) -> Bool {
    guard let stale = challenge?["stale"], value != nil, !isRenewed else { return false }
    return FieldSyntax.isSameName(stale, "true")
  }
}
