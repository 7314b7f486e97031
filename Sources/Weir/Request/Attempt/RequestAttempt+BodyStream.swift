import WeirCurl
import WeirIO

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
    let source = UploadRequest.Uploadable.stream(stream)
    lane.submit { if case .stream(let stream) = source { stream.close() } }
  }
}

extension RequestAttempt {
  /// Copies bytes of the body's stream to libcurl's buffer.
  func supplyFromStream(_ buffer: UnsafeMutableRawBufferPointer) -> BodySupply {
    let hasBegun = pipeline.bodyStream?.state.hasBegun ?? true
    switch pipeline.bodyStream?.state.take(into: buffer) {
    case .bytes(let count)?: return .bytes(count)
    case .end?: return .end
    case .failed(let text, let code)?:
      body.failure = urlError(code, "the request's body stream failed: \(text)")
      return .failed
    case .later(let reads)?:
      if !hasBegun { announceBodyStream() }
      if reads { readBodyStream() }
      return .pause
    case nil: return .failed
    }
  }

  private func announceBodyStream() {
    guard let upload = request as? UploadRequest, let stream = pipeline.bodyStream?.stream else { return }
    if let session = context.session { context.monitors.urlSession(session, taskNeedsNewBodyStream: task) }
    pipeline.monitors.request(upload, didProvideInputStream: stream)
  }

  private func readBodyStream() {
    guard let (stream, lane, _) = pipeline.bodyStream else { return }
    // The stream itself is not Sendable; the wrapper is, as only one thread at a time uses the stream.
    let source = UploadRequest.Uploadable.stream(stream)
    lane.submit { [request, task, hopRequest = hop.request] in
      guard case .stream(let stream) = source else { return }
      let piece = BodyStream.read(from: stream)
      request.onAttempt(task) { $0.bodyStreamRead(piece, for: hopRequest) }
    }
  }

  private func bodyStreamRead(_ piece: BodyStream.Piece, for hopRequest: HopRequest) {
    guard hop.request === hopRequest, pipeline.bodyStream != nil else { return }
    pipeline.bodyStream?.state.arrived(piece)
    attempt.bodyArrived()
  }
}
