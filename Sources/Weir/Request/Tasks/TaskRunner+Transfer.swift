import Synchronization
import WeirCurl
import WeirHTTP
import WeirIO

/// Starts the transfer of a hop.
extension TaskRunner {
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
      let leavesOut = hop.hasLeftOrigin || hop.leavesSessionOut
      let headers = core.headers(
        for: hop.request, retries: retryCount,
        without: leavesOut ? RedirectPolicy.originFields + request.secretFields : [], trace: notes?.addedContext,
        cookie: cookie, additions: (use?.questioned?.entry.conditions ?? []) + hop.answers)
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
    guard attempt.findEndpoint(at: destination, key: core.balanceKey(of: hop.request, at: destination)) else {
      return false
    }
    if !machine.hasStarted { notes?.facts.endpoint = pipeline.admission.lastEndpoint }
    return true
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
    spec.trust = hop.trust?.trust ?? core.namedTrust
    // A pulled body is not certain to be there a second time.
    spec.canRepeatBody = if case .pulled = body { false } else { true }
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

/// The stream from which a request's body is read.
extension RequestPipeline {
  /// Whether the hop's stream can be sent: neither an earlier hop nor another request has read from it.
  func beginBodyStream(_ stream: InputStream) -> Bool {
    let isAnother = bodyStream?.stream !== stream
    // A reader thread may still hold a stream that has begun.
    guard isAnother || bodyStream?.state.hasBegun == false, stream.streamStatus == .notOpen else { return false }
    if isAnother {
      closeBodyStream()
      bodyStream = (stream, FileLane(workers: context.readers), BodyStream())
    }
    return true
  }

  /// Closes a stream that was not read to its end, once the present read has returned.
  func closeBodyStream() {
    guard let (stream, lane, state) = bodyStream, state.isOpen else { return }
    if let sequence = stream as? SequenceInputStream { return sequence.close() }
    let source = UploadRequest.Uploadable.stream(stream)
    lane.submit { if case .stream(let stream) = source { stream.close() } }
  }
}

extension TaskRunner {
  /// Copies bytes of the body's stream to libcurl's buffer.
  func supplyFromStream(_ buffer: UnsafeMutableRawBufferPointer) -> BodySupply {
    let hasBegun = pipeline.bodyStream?.state.hasBegun ?? true
    switch pipeline.bodyStream?.state.take(into: buffer) {
    case .bytes(let count)?: return .bytes(count)
    case .end?: return .end
    case .failed(let text, let code)?:
      body.failure = urlError(code, "the request's body stream failed: \(text)")
      return .failed
    case .broken(let error)?:
      body.receiverFailure = error.asWeirError(or: .createUploadableFailed(error: error))
      body.failure = urlError(.requestBodyStreamExhausted, "the request's body failed: \(error.localizedDescription)")
      return .failed
    case .later(let reads)?:
      if !hasBegun { announceBodyStream() }
      if reads { readBodyStream(begins: !hasBegun) }
      return .pause
    case nil: return .failed
    }
  }

  private func announceBodyStream() {
    guard let upload = request as? UploadRequest, let stream = pipeline.bodyStream?.stream else { return }
    if let session = context.session { context.monitors.urlSession(session, taskNeedsNewBodyStream: task) }
    pipeline.monitors.request(upload, didProvideInputStream: stream)
  }

  private func readBodyStream(begins: Bool) {
    guard let (stream, lane, _) = pipeline.bodyStream else { return }
    if let sequence = stream as? SequenceInputStream {
      let arrived: SequenceReader.Completion = { [request, task, hopRequest = hop.request] piece in
        request.onTask(task) { $0.bodyStreamRead(piece, for: hopRequest) }
      }
      // Another request may have been given the same stream, and have begun to read it meanwhile.
      guard !begins || sequence.reader.open() else {
        return request.context.loop.post { arrived(SequenceReader.isUnusable) }
      }
      return sequence.reader.next(arrived)
    }
    // The stream itself is not Sendable; the wrapper is, as only one thread at a time uses the stream.
    let source = UploadRequest.Uploadable.stream(stream)
    lane.submit { [request, task, hopRequest = hop.request] in
      guard case .stream(let stream) = source else { return }
      let piece = BodyStream.read(from: stream)
      request.onTask(task) { $0.bodyStreamRead(piece, for: hopRequest) }
    }
  }

  private func bodyStreamRead(_ piece: BodyStream.Piece, for hopRequest: HopRequest) {
    guard hop.request === hopRequest, pipeline.bodyStream != nil else { return }
    pipeline.bodyStream?.state.arrived(piece)
    attempt.bodyArrived()
  }
}
