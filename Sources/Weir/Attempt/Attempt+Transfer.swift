import Foundation
import FoundationNetworking
import Synchronization
import WeirCurl
import WeirHTTP
import WeirIO

/// A hop's way on the wire.
extension Attempt {
  /// Puts the present hop's request on the wire.
  func startHop() {
    // What can't be sent is no attempt.
    guard hop.request.isSupported else {
      return ended(error: urlError(.unsupportedURL, Self.advice(onUnsupported: hop.request.text)))
    }
    do {
      hop.trust = try core.trust(for: hop.request)
    } catch {
      return refuse(untrusted: error)
    }
    if !machine.hasStarted { begin() }
    machine.hopStarts()
    body = ResponseBody(limit: request.maximumBodySize)
    guard let transferBody = makeBody() else {
      return ended(error: urlError(.requestBodyStreamExhausted, "the request's body can't be sent again"))
    }
    guard task.starts(expectedToSend: transferBody.length ?? -1) else {
      return ended(error: urlError(.cancelled, "the task was cancelled"))
    }
    do {
      let cookie = core.cookies?.field(for: hop.request)
      let use = tally.redirectCount == 0 ? caching : nil
      if let use {
        use.requested = Self.now
        use.sent = core.sentFields(of: hop.request, cookie: cookie)
      }
      let headers = core.headers(
        for: hop.request, of: request, retries: retryCount, withoutSecrets: hop.hasLeftOrigin, cookie: cookie,
        conditions: use?.questioned?.entry.conditions)
      transfer = try core.engine().start(spec(transferBody), headers: headers, delegate: self)
    } catch {
      ended(error: urlError(.cannotLoadFromNetwork, "libcurl could not be started: \(error)"))
    }
  }

  /// A URL without `//` may be one of which the scheme was forgotten. Its text is not repeated: it may hold secrets.
  private static func advice(onUnsupported url: String) -> String {
    "only http and https URLs with a host can be requested" + (url.contains("//") ? "" : "; is http:// missing?")
  }

  /// The host is not even connected to.
  private func refuse(untrusted error: WeirError) {
    body = ResponseBody(limit: nil)
    body.trustFailure = error
    ended(error: urlError(.serverCertificateUntrusted, error.errorDescription ?? ""))
  }

  private func begin() {
    let now = MonotonicTime.now
    tally = TransferTally(queue: lease.waited(until: now), now: now)
    let plan = request.fields.withLock { fields in
      fields.change(number) { $0?.isStarted = true }
      hop.credential = fields.credential
      return fields.hedge
    }
    pipeline.monitors.request(request, didStartAttempt: number)
    if let plan { joinRace(plan) }
  }

  private func spec(_ body: TransferBody) -> TransferSpec {
    let line = request.requestLine
    var spec = TransferSpec(
      url: hop.request.text, target: line?.target, method: line?.method ?? hop.request.method, body: body)
    let timeout = hop.request.urlRequest.timeoutInterval
    spec.silenceTimeout =
      timeout == RequestTimeouts.foundations ? core.configuration.timeoutIntervalForRequest : timeout
    spec.tag = lease.destination
    spec.isForOneOfMany = request.isForOneOfMany
    spec.addressPolicy = request.addressPolicy
    spec.trust = request.trust ?? hop.trust?.trust
    spec.canRepeatBody = body.isRepeatable
    spec.credential = credential(for: body)
    return spec
  }

  /// Nil: there was one, and it can't be had again.
  private func makeBody() -> TransferBody? {
    let urlRequest = hop.request.urlRequest
    switch hop.hasLostBody ? AttemptBody(of: urlRequest) : request.makeBody(of: urlRequest) {
    // A length of zero: without one a server might wait for a body (RFC 9110 section 8.6).
    case .none: return Self.methodsWithBody.contains(hop.request.method) ? .bytes([UInt8]()) : TransferBody.none
    case .data(let data): return .bytes(DataBytes(data))
    case .file(let path, let size): return .file(path: path, size: size)
    case .pulled(let length): return request.rewindBody() ? .pulled(length: length) : nil
    case .stream(let stream, let length): return pipeline.beginBodyStream(stream) ? .pulled(length: length) : nil
    }
  }

  private static let methodsWithBody = ["POST", "PUT", "PATCH"]
}

extension Attempt: TransferDelegate {
  func transfer(_ transfer: Transfer, didReceiveHead head: ResponseHead) -> Flow {
    if isLost { return .stop }
    let response = LazyHTTPResponse(head, url: hop.url)
    tally.contentEncoding = head.isEncoded ? response.value(forHeader: "Content-Encoding") : nil
    task.received(response)
    keepCookies(of: head)
    invalidateCache(response.statusCode)
    if !isConfirmedByServer(response), !followRedirect(response), !answerChallenge(response) { accept(response) }
    if body.failure != nil || isLost { return .stop }
    return machine.reads ? .proceed : .pause
  }

  func transfer(_ transfer: Transfer, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    if isLost { return .stop }
    if !machine.reads { return .pause }
    if isServedFromCache { return refuseBody() }
    if body.isDiscarded { return body.discard(bytes.count) ? .proceed : .stop }
    take(bytes)
    return body.failure == nil ? .proceed : .stop
  }

  func transfer(_ transfer: Transfer, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply {
    if pipeline.bodyStream != nil { return supplyFromStream(buffer) }
    return switch request.provideBody(into: buffer) {
    case .bytes(let count): .bytes(count)
    case .end: .end
    case .later: .pause
    }
  }

  func transferRewindBody(_ transfer: Transfer) -> Bool {
    pipeline.bodyStream.map { !$0.state.hasBegun } ?? request.rewindBody()
  }

  func transfer(_ transfer: Transfer, didSendBody totalSent: Int64) {
    let before = task.countOfBytesSent
    task.update { $0.sent = totalSent }
    let expected = task.countOfBytesExpectedToSend
    request.reportUpload(totalSent, of: expected)
    guard context.monitors.wants(.data), let session = context.session else { return }
    context.monitors.urlSession(
      session, task: task, didSendBodyData: totalSent - before, totalBytesSent: totalSent,
      totalBytesExpectedToSend: expected)
  }

  func transfer(_ transfer: Transfer, didFinish error: TransferError?, report: TransferReport) {
    self.transfer = nil
    if isLost { return }
    stopTimer()
    if serveAfterTransfer((error, report)) { return }
    let isOfUse = error.map { decodesOn(after: $0) } ?? true
    if !isOfUse { body.decoder = nil }
    let awaitsSink = awaitsSink()
    if machine.transferEnded(failed: !isOfUse && !awaitsSink) {
      body.ending = (error, report)
    } else {
      transferEnded(error, report)
    }
  }

  /// Whether what came before a failure is still decoded: for who gets it in chunks, unless the failure is our own.
  private func decodesOn(after error: TransferError) -> Bool {
    request.handsChunksOn && machine.holds.contains(.decoding) && body.failure == nil && error.kind != .cancelled
      && pipeline.decide { $0.stage == .transferring }
  }
}

enum RequestTimeouts {
  /// A URL request's `timeoutInterval` when nobody has asked for anything else.
  static let foundations: TimeInterval = 60
}
