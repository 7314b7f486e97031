import Foundation
import FoundationNetworking
import Synchronization
import WeirCompression
import WeirCurl
import WeirIO

/// The response body of one hop on its way through decoder and limits to the request.
struct BodyState {
  /// Why reading waits.
  struct Holds: OptionSet {
    let rawValue: UInt8

    static let suspended = Holds(rawValue: 1)
    static let redirect = Holds(rawValue: 2)
    static let retryDecision = Holds(rawValue: 4)
    static let observer = Holds(rawValue: 8)
    static let decoding = Holds(rawValue: 16)
    static let sink = Holds(rawValue: 32)
    /// The attempt had given its slot up and waits for one.
    static let slot = Holds(rawValue: 64)
  }

  var holds: Holds = []
  var isDiscarded = false
  var discarded = 0
  /// Whether the rest of a discarded body took too long.
  var isGivenUp = false
  /// Whether the transfer ended with an error, of interest or not: its connection is not used again.
  var hasBroken = false
  var decoder: ContentDecoder?
  /// Bytes as they came over the wire.
  var received: Int64 = 0
  /// Bytes that the request got.
  var delivered: Int64 = 0
  var limit: Int64?
  /// What went wrong on our side of the wire; wins over what libcurl then reports.
  var failure: URLError?
  /// The end of the transfer, while decoded bytes still wait.
  var ending: (error: TransferError?, report: TransferReport)?

  /// The error of a body that ended too early for its coding.
  func endFailure() -> URLError? {
    guard !isDiscarded, let decoder else { return nil }
    do throws(CompressionError) {
      try decoder.finish()
      return nil
    } catch {
      return URLError(compression: error)
    }
  }
}

extension RequestPipeline: TransferDelegate {
  func transfer(_ transfer: Transfer, didReceiveHead head: WeirCurl.ResponseHead) -> Flow {
    let response = LazyHTTPResponse(
      head: head.raw, url: hop.url, statusCode: head.status, httpVersion: head.version.fieldName)
    tally.contentEncoding = head.isEncoded ? response.value(forHeader: "Content-Encoding") : nil
    task?.received(response)
    if followRedirect(response) { return flow }
    return accept(response)
  }

  func transfer(_ transfer: Transfer, didReceiveBody bytes: UnsafeRawBufferPointer) -> Flow {
    if !body.holds.isEmpty { return .pause }
    if body.isDiscarded { return discard(bytes.count) }
    noteProgress(received: bytes.count)
    if let limit = body.limit, body.received > limit {
      exceedLimit(limit)
      return .stop
    }
    guard let decoder = body.decoder else {
      deliver(bytes)
      return body.failure == nil ? .proceed : .stop
    }
    decode { sink throws(CompressionError) in
      try decoder.feed(bytes, budget: Self.decodedBytesPerTurn, into: sink)
    }
    return body.failure == nil ? .proceed : .stop
  }

  func transfer(_ transfer: Transfer, provideBody buffer: UnsafeMutableRawBufferPointer) -> BodySupply {
    if bodyStream != nil { return supplyFromStream(buffer) }
    return switch request.provideBody(into: buffer) {
    case .bytes(let count): .bytes(count)
    case .end: .end
    case .later: .pause
    }
  }

  func transferRewindBody(_ transfer: Transfer) -> Bool {
    bodyStream.map { !$0.state.hasBegun } ?? request.rewindBody()
  }

  func transfer(_ transfer: Transfer, didSendBody totalSent: Int64) {
    guard let task else { return }
    let before = task.countOfBytesSent
    task.update { $0.sent = totalSent }
    reportUpload(totalSent, of: task.countOfBytesExpectedToSend)
    guard context.monitors.wants(.data), let session = context.session else { return }
    context.monitors.send(.data) {
      $0.urlSession(
        session, task: task, didSendBodyData: totalSent - before, totalBytesSent: totalSent,
        totalBytesExpectedToSend: task.countOfBytesExpectedToSend)
    }
  }

  func transfer(_ transfer: Transfer, didFinish error: TransferError?, report: TransferReport) {
    self.transfer = nil
    unwantedBodyEnded()
    if error == nil, body.holds.contains(.decoding) || body.holds.contains(.sink) {
      body.ending = (error, report)
    } else {
      transferEnded(error, report)
    }
  }

  /// Reads on so that the connection can be used again, up to a bound beyond which a new one is cheaper.
  private func discard(_ count: Int) -> Flow {
    body.discarded += count
    return body.discarded > 64 << 10 ? .stop : .proceed
  }

  // MARK: The head

  /// What libcurl is told after a head: reading waits as long as there is a reason to.
  private var flow: Flow {
    if body.failure != nil { return .stop }
    return body.holds.isEmpty ? .proceed : .pause
  }

  /// The head of the final response.
  func accept(_ response: LazyHTTPResponse) -> Flow {
    startDecoder(response.statusCode)
    if context.monitors.wants(.tasks), let session = context.session, let task, let built = response.response {
      context.monitors.send(.tasks) { $0.urlSession(session, dataTask: task, didReceive: built) }
    }
    if request.decidesAtHead(response) {
      hold(.retryDecision)
      perform(decide { $0.headArrived() })
      if body.holds.contains(.retryDecision) { park() }
    } else {
      passOn(response)
    }
    return flow
  }

  /// The retriers let a response through whose body waits.
  func continueAfterHead() {
    if let response = task?.lazyResponse { passOn(response) }
    release(.retryDecision)
  }

  /// The retriers want another attempt: what is left of this response is of no use.
  func discardBody() {
    body.isDiscarded = true
    limitUnwantedBody()
    release(.retryDecision)
  }

  /// The rest of a body that nobody wants does not come: a new connection is cheaper than waiting.
  func giveUpUnwantedBody() {
    body.isGivenUp = true
    transfer?.cancel()
  }

  private func passOn(_ response: LazyHTTPResponse) {
    let observer = request.fields.withLock { $0.observers.httpResponse }
    if let observer, let task, let built = response.response {
      hold(.observer)
      let answer = SingleCall<Request.ResponseDisposition> { [request] disposition in
        request.onPipeline { $0.observed(disposition, of: task) }
      }
      request.deliver(on: observer.queue) { observer.handler(built) { answer($0) } }
      if body.holds.contains(.observer) { park() }
    }
    if request.receive(response) == .pause { hold(.sink) }
  }

  private func observed(_ disposition: Request.ResponseDisposition, of task: TransferTask) {
    guard task === self.task, body.holds.contains(.observer) else { return }
    if disposition == .cancel { request.cancel() }
    release(.observer)
  }

  // MARK: The body

  /// So much is inflated in one turn of the loop.
  static var decodedBytesPerTurn: Int { 64 << 10 }

  private func startDecoder(_ status: Int) {
    guard let coding = tally.contentEncoding, request.decodesBody, mayHaveBody(status) else { return }
    do throws(CompressionError) {
      body.decoder = try ContentDecoder(contentEncoding: coding, limits: DecodeLimits(core.configuration))
    } catch {
      body.failure = URLError(compression: error)
    }
  }

  private func mayHaveBody(_ status: Int) -> Bool {
    status != 204 && status != 304 && hop.request?.method != "HEAD"
  }

  private func decode(
    _ work: ((UnsafeRawBufferPointer) -> Void) throws(CompressionError) -> Bool
  ) {
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

  private func continueDecodingNextTurn() {
    if !body.holds.contains(.decoding) { hold(.decoding) }
    core.loop.post { [request] in request.onPipeline { $0.continueDecoding() } }
  }

  private func continueDecoding() {
    guard let decoder = body.decoder, body.holds.contains(.decoding), body.failure == nil else { return }
    decode { sink throws(CompressionError) in try decoder.step(budget: Self.decodedBytesPerTurn, into: sink) }
    guard body.failure != nil else { return }
    if let transfer { transfer.cancel() } else { release(.decoding) }
  }

  private func deliver(_ bytes: UnsafeRawBufferPointer) {
    if body.delivered == 0 {
      request.fields.withLock { $0.times?.initialResponse = .now }
    }
    body.delivered += Int64(bytes.count)
    tally.decoded += Int64(bytes.count)
    if let limit = body.limit, body.delivered > limit { return exceedLimit(limit) }
    if context.monitors.wants(.data), let session = context.session, let task {
      let data = Data(bytes)
      context.monitors.send(.data) { $0.urlSession(session, dataTask: task, didReceive: data) }
    }
    switch request.receive(bytes) {
    case .proceed: break
    case .pause: hold(.sink)
    case .stop: body.failure = urlError(.cancelled, "the receiver wants no more")
    }
    reportDownload()
  }

  private func exceedLimit(_ limit: Int64) {
    body.failure = urlError(
      .dataLengthExceedsMaximum, "the response is larger than maximumResponseSize (\(limit) bytes)")
  }

  private func noteProgress(received count: Int) {
    body.received += Int64(count)
    task?.update { $0.received += Int64(count) }
  }

  private func reportDownload() {
    guard let observer = request.fields.withLock({ $0.observers.downloadProgress }), let task else { return }
    let progress = request.downloadProgress
    progress.report(body.delivered, of: body.decoder == nil ? task.countOfBytesExpectedToReceive : -1)
    request.deliver(on: observer.queue) { observer.handler(progress) }
  }

  private func reportUpload(_ sent: Int64, of total: Int64) {
    guard let observer = request.fields.withLock({ $0.observers.uploadProgress }) else { return }
    let progress = request.uploadProgress
    progress.report(sent, of: total)
    request.deliver(on: observer.queue) { observer.handler(progress) }
  }
}
