import WeirCurl
import WeirHTTP

/// Challenges of servers and proxies: which credential answers them, and who hears of them.
extension RequestAttempt {
  /// libcurl answers a challenge with what the hop was given for that.
  func attempt(_ attempt: Attempt, didAnswer head: ResponseHead) {
    core.cookies?.keep(head, of: hop.request)
    announce(LazyHTTPResponse(head, url: hop.url), proposed: head.status == 407 ? proxyCredential : hop.offered)
    hop.answeredChallenges += 1
  }

  /// Whether the response is a challenge to be answered from the credential storage. If not, it is as any other.
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

  /// What is offered with the present hop's request, if it is challenged.
  func credential(for body: TransferBody) -> TransferCredential? {
    guard body.isRepeatable else { return nil }
    return hop.offered.flatMap(TransferCredential.init)
  }

  /// The realm is known only when the challenge is there, so that the request goes out once more for it to be answered.
  private func storedCredential(for response: LazyHTTPResponse) -> URLCredential? {
    guard response.statusCode == 401, let storage = core.configuration.urlCredentialStorage, hop.offered == nil,
      attempt.transfer?.mayBeAuthenticated == true, let space = protectionSpace(of: response)
    else { return nil }
    let credential = storage.defaultCredential(like: space) ?? credentialOfHost(in: storage, space)
    return credential.flatMap { TransferCredential($0) == nil ? nil : $0 }
  }

  /// What answers a Basic challenge without a realm: what is stored with the host as its realm, as
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

  /// Nil when the response asks for nothing that could be answered.
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
      host: url.host?.lowercased() ?? "", port: url.port ?? (scheme == "https" ? 443 : 80), protocol: scheme,
      realm: challenge.realm, authenticationMethod: method)
  }
}

extension TransferBody {
  /// Whether it is there to be sent a second time, for certain.
  var isRepeatable: Bool { if case .pulled = self { false } else { true } }
}
