import WeirCurl

/// Follows redirects hop by hop within one attempt; libcurl follows none.
extension TaskRunner {
  /// Whether the response is a redirect that is being followed or waits for a decision. If not, the response is final.
  func followRedirect(_ response: LazyHTTPResponse) -> Bool {
    guard (300..<400).contains(response.statusCode),
      let proposal = RedirectPolicy.proposal(
        status: response.statusCode, location: response.location, for: hop.request.urlRequest,
        secretFields: request.secretFields)
    else { return false }
    hop.losesBody = RedirectPolicy.losesBody(status: response.statusCode, method: hop.request.method)
    announce(proposal, for: response)
    guard let handler = request.redirectHandler ?? context.settings.redirectHandler, let built = response.response
    else {
      follow(proposal)
      return true
    }
    hold(.redirect)
    let answer = SingleCall<URLRequest?> { [request, task] next in
      request.onTask(task) { $0.redirectDecided(next, response) }
    }
    context.onRootQueue { [task] in
      handler.task(task, willBeRedirectedTo: proposal, for: built) { answer($0) }
    }
    attempt.park(for: .redirect)
    return true
  }

  private func redirectDecided(_ next: URLRequest?, _ response: LazyHTTPResponse) {
    guard task.lazyResponse === response, attempt.transfer != nil, machine.holds.contains(.redirect) else {
      return  // the hop that the decision is about has been cancelled
    }
    if let next {
      follow(next)
    } else {
      accept(response)
    }
    release(.redirect)
    if body.failure != nil { attempt.transfer?.cancel() }
  }

  private func follow(_ next: URLRequest) {
    let current = hop.url
    let configuration = core.configuration
    if let refusal = RedirectPolicy.refusal(
      from: current, to: next.url, count: attempt.costs.sums.redirectCount, limit: configuration.maximumRedirects,
      allowsInsecure: configuration.allowsInsecureRedirects)
    {
      redirectIsTheAnswer()
      body.failure = error(of: refusal, next.url)
      return
    }
    do {
      try next.validate()
    } catch {
      redirectIsTheAnswer()
      body.failure = urlError(.badURL, "the redirect handler's request is not valid: \(error)")
      return
    }
    if let current, let target = next.url, !RedirectPolicy.isSameOrigin(current, target) {
      redirectIsTheAnswer()
      hop.hasLeftOrigin = true
    }
    hop.next = next
    note(redirect: attempt.status ?? 0, to: next.url)
    attempt.discardBody()
  }

  /// The destination has answered: no further hop asks it anything. So has the hop's endpoint, if it had one.
  private func redirectIsTheAnswer() {
    if let response = task.lazyResponse { answered(response) }
  }

  private func announce(_ proposal: URLRequest, for response: LazyHTTPResponse) {
    guard context.monitors.wants(.redirects), let session = context.session, let built = response.response else {
      return
    }
    context.monitors.urlSession(session, task: task, willPerformHTTPRedirection: built, newRequest: proposal)
  }

  private func error(of refusal: RedirectPolicy.Refusal, _ target: URL?) -> URLError {
    switch refusal {
    case .tooMany:
      urlError(
        .httpTooManyRedirects, "more redirects than maximumRedirects (\(core.configuration.maximumRedirects))")
    case .insecure:
      urlError(
        .appTransportSecurityRequiresSecureConnection,
        "the redirect leads from https to http; allowsInsecureRedirects permits that")
    case .unsupportedURL:
      urlError(
        .unsupportedURL,
        "the redirect leads to the scheme \(target?.scheme ?? "(none)"); only http and https URLs with a host are followed"
      )
    }
  }
}
