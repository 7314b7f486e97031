import Synchronization
import WeirCompression
import WeirCurl
import WeirIO

/// The final response on its way to the request: the head, the observers that may refuse it, the body.
extension TaskRunner {
  /// Takes the head of the final response.
  func accept(_ response: LazyHTTPResponse) {
    noteForCache(response)
    attempt.noteLatency()
    answered(response)
    guard goesOn(status: response.statusCode) else { return }
    let isInFile = request.fileOffset != nil
    if isInFile, let next = request.startsOver(after: response, to: hop.request.urlRequest) {
      return repeatHop(with: next)
    }
    startDecoder(response.statusCode)
    if !isInFile { tell(response) }
    passOn(response)
  }

  /// Tells the destination that this is its answer. A response of another origin, to which a redirect has led, asks the
  /// destination for no pause.
  func answered(_ response: LazyHTTPResponse) {
    attempt.answered(response.statusCode, hop.hasLeftOrigin ? nil : response.head)
    if attempt.hasLeftEndpointOut { request.fields.withLock { $0.hasLeftEndpointOut = true } }
  }

  /// Tells monitors about the head.
  func tell(_ response: LazyHTTPResponse) {
    guard context.monitors.wants(.tasks), let session = context.session, let built = response.response else { return }
    context.monitors.urlSession(session, dataTask: task, didReceive: built)
  }

  /// Repeats the hop with `next`, as this response is of no use. A nonce may be used once, so a challenge is answered
  /// anew.
  func repeatHop(with next: URLRequest) {
    attempt.discardBody()
    (hop.answer.value, hop.proxyAnswer.value) = (nil, nil)
    hop.next = next
    hop.isRedirected = false
  }

  /// Passes the response on, if the request wants it so once its validators have accepted the head.
  func passOn(_ response: LazyHTTPResponse) {
    guard request.judgesHead, case let validators = request.fields.withLock({ $0.validators }), !validators.isEmpty
    else { return show(response) }
    hold(.verdict)
    let input = ValidationInput(request: request, response: response)
    context.onRootQueue { [request, task] in
      let verdict = Validator.Verdict(of: validators, about: input)
      request.context.loop.post { request.onTask(task) { $0.judged(verdict, input) } }
    }
    if context.queues.root != nil { attempt.park(for: .verdict) }
  }

  private func judged(_ verdict: Validator.Verdict, _ input: ValidationInput) {
    guard machine.holds.contains(.verdict), pipeline.decide({ $0.isTransferring }) else { return }
    if pipeline.wants(.responses) { verdict.announce(input, to: pipeline.monitors) }
    // The verdict is final: the validators are not asked again at the body's end.
    if let failure = verdict.failure {
      pipeline.record(failure)
      return receiverFailed(failure)
    }
    request.fields.withLock { $0.validators = [] }
    show(input.response)
    release(.verdict)
  }

  private func show(_ response: LazyHTTPResponse) {
    let observer = request.fields.withLock { $0.observers?.httpResponse }
    if let observer, let built = response.response {
      hold(.observer)
      let answer = SingleCall<Request.ResponseDisposition> { [request, task] disposition in
        request.onTask(task) { $0.observed(disposition) }
      }
      request.deliver(on: observer.queue) { observer.handler(built) { answer($0) } }
      attempt.park(for: .observer)
    }
    obey(request.receive(response))
  }

  private func observed(_ disposition: Request.ResponseDisposition) {
    guard machine.holds.contains(.observer) else { return }
    if disposition == .cancel { request.cancel() }
    release(.observer)
  }

  // MARK: The body

  /// Takes bytes from the wire.
  func take(_ bytes: UnsafeRawBufferPointer) {
    task.update { $0.received += Int64(bytes.count) }
    if let limit = body.receive(bytes.count) { return exceed(limit) }
    guard let decoder = body.decoder else { return deliver(bytes) }
    decode { sink throws(CompressionError) in
      try decoder.feed(bytes, budget: ResponseBody.decodedBytesAtOnce, into: sink)
    }
  }

  private func startDecoder(_ status: Int) {
    guard let coding = attempt.costs.sums.contentEncoding, decodesBody, mayHaveBody(status) else { return }
    let configuration = core.configuration
    let limits = DecodeLimits(
      size: configuration.maximumDecompressedSize, ratio: configuration.maximumDecompressionRatio)
    do throws(CompressionError) {
      body.decoder = try ContentDecoder(contentEncoding: coding, limits: limits)
    } catch {
      body.failure = URLError(compression: error)
    }
  }

  /// Whether the body's content coding is decoded.
  var decodesBody: Bool { core.configuration.automaticallyDecompresses }

  private func mayHaveBody(_ status: Int) -> Bool {
    status != 204 && status != 304 && hop.request.method != "HEAD"
  }

  private func decode(_ work: ((UnsafeRawBufferPointer) -> Void) throws(CompressionError) -> Bool) {
    do throws(CompressionError) {
      let isPending = try work { bytes in
        if body.failure == nil { deliver(bytes) }
      }
      guard body.failure == nil else { return }
      if isPending { continueDecodingNextTurn() } else { release(.decoding) }
    } catch {
      body.failure = URLError(compression: error)
    }
  }

  /// Decodes more in the next turn of the loop, unless the receiver has enough for now.
  func continueDecodingNextTurn() {
    if !machine.holds.contains(.decoding) { hold(.decoding) }
    guard !body.decodesNextTurn, !machine.holds.contains(.sink) else { return }
    body.decodesNextTurn = true
    core.loop.post { [request, task] in request.onTask(task) { $0.continueDecoding() } }
  }

  private func continueDecoding() {
    body.decodesNextTurn = false
    guard machine.holds.contains(.decoding), !machine.holds.contains(.sink) else { return }
    // After a failure nothing more is decoded, and the attempt's end no longer waits for decoding.
    guard let decoder = body.decoder, body.failure == nil else { return release(.decoding) }
    decode { sink throws(CompressionError) in
      try decoder.step(budget: ResponseBody.decodedBytesAtOnce, into: sink)
    }
    guard body.failure != nil else { return }
    if let transfer = attempt.transfer { transfer.cancel() } else { release(.decoding) }
  }

  func deliver(_ bytes: UnsafeRawBufferPointer) {
    if body.delivered == 0 {
      request.fields.withLock { $0.times?.initialResponse = .now }
    } else if !body.isInPieces {
      body.isInPieces = true
      request.bodyGoesOn(expectedBytes)
    }
    attempt.handedOn(bytes.count)
    if let limit = body.deliver(bytes.count) { return exceed(limit) }
    if let offset = request.fileOffset { return deliverToFile(bytes, from: offset) }
    collectForCache(bytes)
    if context.monitors.wants(.data), let session = context.session {
      context.monitors.urlSession(session, dataTask: task, didReceive: Data(bytes))
    }
    obey(request.receive(bytes))
    request.reportDownload(body.delivered, of: expectedBytes)
  }

  private func deliverToFile(_ bytes: UnsafeRawBufferPointer, from offset: Int64) {
    obey(request.receive(bytes))
    if context.monitors.wants(.data), let session = context.session {
      context.monitors.urlSession(
        session, downloadTask: task, didWriteData: Int64(bytes.count), totalBytesWritten: offset + body.delivered,
        totalBytesExpectedToWrite: expectedFileSize(offset))
    }
    request.reportDownload(offset + body.delivered, of: expectedFileSize(offset))
  }

  /// The length of the body as delivered; −1 if unknown.
  private var expectedBytes: Int64 {
    if let stored = caching?.served { return Int64(stored.count) }
    return body.decoder == nil ? task.countOfBytesExpectedToReceive : -1
  }

  /// The length of the whole file; −1 if unknown.
  private func expectedFileSize(_ offset: Int64) -> Int64 {
    let expected = expectedBytes
    return expected < 0 ? -1 : offset + expected
  }

  private func obey(_ flow: BodyFlow) {
    switch flow {
    case .proceed: break
    case .pause: hold(.sink)
    case .stop: body.failure = urlError(.cancelled, "the receiver has stopped reading the body")
    }
  }

  private func exceed(_ limit: Int64) {
    body.failure = urlError(
      .dataLengthExceedsMaximum, "the response is larger than maximumResponseSize (\(limit) bytes)")
  }
}

extension Request {
  /// Reports the download's progress if the caller observes it. The total is computed only then.
  fileprivate func reportDownload(_ count: Int64, of total: @autoclosure () -> Int64) {
    let (observer, isShown) = fields.withLock { ($0.observers?.downloadProgress, $0.observers?.showsProgress ?? false) }
    guard observer != nil || isShown else { return }
    let progress = downloadProgress
    progress.report(count, of: total())
    if let observer { deliver(on: observer.queue) { observer.handler(progress) } }
  }

  func reportUpload(_ sent: Int64, of total: Int64) {
    let (observer, isShown) = fields.withLock { ($0.observers?.uploadProgress, $0.observers?.showsProgress ?? false) }
    guard observer != nil || isShown else { return }
    let progress = uploadProgress
    progress.report(sent, of: total)
    if let observer { deliver(on: observer.queue) { observer.handler(progress) } }
  }
}
