import Synchronization
import WeirCurl
import WeirHTTP
import WeirIO

/// Starts the transfer of a hop.
extension RequestAttempt {
  func startHop() {
    // A request that can't be sent is not counted as an attempt.
    guard hop.request.isSupported else {
      return ended(error: urlError(.unsupportedURL, Self.advice(onUnsupported: hop.request.text)))
    }
    do {
      hop.trust = try core.trust(for: hop.request)
    } catch {
      return refuse(untrusted: error)
    }
    guard findEndpoint() else { return self.attempt(attempt, wasRejected: .noEndpoint) }
    attempt.hopStarts()
    body = ResponseBody(limit: request.maximumBodySize)
    guard let transferBody = makeBody() else {
      return ended(error: urlError(.requestBodyStreamExhausted, "the request's body can't be sent again"))
    }
    guard task.starts(expectedToSend: transferBody.length ?? -1) else {
      return ended(error: urlError(.cancelled, "the task was cancelled"))
    }
    do {
      let cookie = core.cookies?.field(for: hop.request)
      let use = attempt.costs.sums.redirectCount == 0 ? caching : nil
      if let use {
        use.requested = Self.now
        use.sent = core.sentFields(of: hop.request, cookie: cookie)
      }
      let headers = core.headers(
        for: hop.request, retries: retryCount, withoutSecrets: hop.hasLeftOrigin, trace: request.trace,
        cookie: cookie, additions: (use?.questioned?.entry.conditions ?? []) + hop.answer)
      try attempt.send(spec(transferBody), headers: headers)
    } catch {
      ended(error: urlError(.cannotLoadFromNetwork, "libcurl could not be started: \(error)"))
    }
  }

  /// The advice suggests `http://` if the URL has no `//`, as its scheme may be missing. It does not repeat the URL,
  /// which may hold secrets.
  private static func advice(onUnsupported url: String) -> String {
    "only http and https URLs with a host can be requested" + (url.contains("//") ? "" : "; is http:// missing?")
  }

  /// Chooses the endpoint, if the hop's origin has a group of them.
  private func findEndpoint() -> Bool {
    guard attempt.transport.usesEndpoints else { return true }
    let destination = core.destination(of: hop.request)?.destination
    return attempt.findEndpoint(at: destination, key: core.balanceKey(of: hop.request, at: destination))
  }

  /// Ends the attempt without connecting to the host.
  private func refuse(untrusted error: WeirError) {
    body = ResponseBody(limit: nil)
    body.trustFailure = error
    ended(error: urlError(.serverCertificateUntrusted, error.errorDescription ?? ""))
  }

  private func spec(_ body: TransferBody) -> TransferSpec {
    var spec = TransferSpec(url: hop.request.text, method: hop.request.method, body: body)
    spec.silenceTimeout = hop.request.timeout ?? core.configuration.timeoutIntervalForRequest
    spec.addressPolicy = core.configuration.destinationPolicy.rules
    spec.trust = hop.trust?.trust
    spec.canRepeatBody = body.isRepeatable
    return spec
  }

  /// The hop's body. Nil: it was read before and can't be made again.
  private func makeBody() -> TransferBody? {
    switch hop.hasLostBody ? AttemptBody(of: hop.request) : request.makeBody(of: hop.request) {
    case .none: return RequestMethods.expectsBody(hop.request.method) ? .bytes([UInt8]()) : TransferBody.none
    case .data(let data): return .bytes(DataBytes(data))
    case .file(let path, let size): return .file(path: path, size: size)
    case .stream(let stream, let length): return pipeline.beginBodyStream(stream) ? .pulled(length: length) : nil
    }
  }
}
