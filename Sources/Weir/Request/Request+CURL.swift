import Synchronization
import WeirHTTP

extension Request {
  /// The request as a curl command line, to be read or run again.
  ///
  /// Run by a shell, it sends what weir sends, but for the order of the fields. A body that can't stand in it is written
  /// to curl by `printf`, or named by a remark in the last line.
  ///
  /// - Parameter redactingSecrets: Whether passwords, cookies, Authorization, Proxy-Authorization and the fields
  ///   that an ``AuthenticationInterceptor`` or a ``SecretField`` has set are left out, and the bodies of requests that
  ///   refresh a credential.
  public func cURLDescription(redactingSecrets: Bool = true) -> String {
    let (known, secretFields, isAlone) = fields.withLock { ($0.last(\.hop), $0.secretFields, $0.leavesSessionOut) }
    guard let hop = known else { return CURLCommand.failure }
    let urlRequest = hop.urlRequest
    var sessionHeaders = context.configuration.headers
    if isAlone { for name in RedirectPolicy.originFields { sessionHeaders.remove(name: name) } }
    var body = describedBody(of: hop)
    if redactingSecrets, refreshScope != nil, body.option != nil { body = .secret }
    return CURLCommand(
      request: urlRequest, body: body, sessionHeaders: sessionHeaders,
      credentials: credentials(for: urlRequest), cookies: cookies(for: urlRequest), redactingSecrets: redactingSecrets,
      secretFields: secretFields
    ).text
  }

  private func cookies(for urlRequest: URLRequest) -> [HTTPCookie] {
    guard let storage = context.configuration.httpCookieStorage, context.configuration.httpShouldSetCookies,
      urlRequest.httpShouldHandleCookies, let url = urlRequest.url
    else { return [] }
    return storage.cookies(for: url)
  }

  /// The stored credentials for Basic authentication at the host with the host as realm; without any, the request's
  /// own.
  private func credentials(for urlRequest: URLRequest) -> [URLCredential] {
    if let storage = context.configuration.urlCredentialStorage, let url = urlRequest.url,
      let space = URLProtectionSpace(basicOf: url)
    {
      let stored = storage.allCredentials(like: space)
      if !stored.isEmpty { return stored }
    }
    return credential.map { [$0] } ?? []
  }

  /// Calls `handler` once with the redacted command line: at once if the attempt's final URL request exists, else when
  /// it has been created or could not be.
  @preconcurrency
  @discardableResult
  public func cURLDescription(
    on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void
  ) -> Self {
    observeDescriptions(CURLObserver(handler: handler, queue: .explicit(queue), isForEachAttempt: false))
  }

  /// Does the same on the request's handler queue.
  @preconcurrency
  @discardableResult
  public func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self {
    observeDescriptions(CURLObserver(handler: handler, queue: .session, isForEachAttempt: false))
  }

  @discardableResult
  func observeDescriptions(_ observer: CURLObserver) -> Self {
    let isKnown = fields.withLock { fields in
      let isKnown = fields.isURLRequestFinal
      if !fields.machine.isSettled, !isKnown || observer.isForEachAttempt {
        fields.madeObservers().cURL.append(observer)
      }
      return isKnown || fields.machine.isSettled
    }
    if isKnown { describe(to: [observer]) }
    return self
  }

  func describe(to observers: [CURLObserver]) {
    guard !observers.isEmpty else { return }
    let text = cURLDescription()
    for observer in observers { deliver(on: observer.queue) { observer.handler(text) } }
  }
}

extension CURLBody {
  /// The body of a request that is no upload. Methods that have a meaning for a body announce that there is none.
  init(_ body: AttemptBody, method: String) {
    switch body {
    case .none: self = RequestMethods.expectsBody(method) ? .data(Data()) : .none
    case .data(let data): self = .data(data)
    case .file(let path, _): self = .file(URL(filePath: path), isTemporary: false)
    case .stream(_, let length): self = .input(length: length, what: "a stream")
    }
  }
}
