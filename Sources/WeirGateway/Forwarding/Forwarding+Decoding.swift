import WeirCompression
import WeirHTTP
import WeirIO
import WeirServer
import WeirTransport

// A request's body is decoded once, before it is kept for the attempts.
extension Forwarding {
  /// Begins to decode the request's body, if the route says so. Returns false if the request was refused instead.
  func decodesBody(by plan: CodingPlan) -> Bool {
    guard plan.rules.decodesRequests else { return true }
    switch exchange.head.bodyLength {
    case .none, .length(0): return true
    default: break
    }
    var codings: [ContentCoding]? = []
    var forbidsChanges = false
    exchange.head.fields.forEach { name, value in
      if name.count == 16, name.spells("content-encoding") {
        codings = ResponseFacts.join(codings, ContentCoding.list(value))
      } else if name.count == 13, name.spells("cache-control") {
        forbidsChanges = forbidsChanges || value.forbidsChanges
      }
    }
    switch plan.rules.treatment(ofRequest: codings, forbidsChanges: forbidsChanges) {
    case .none: return true
    case .unknown:
      answer(.unknownCoding, as: .refused)
      return false
    case .decode(let codings):
      guard let decoder = plan.decoder(of: codings, bodyBytes: decodedBytes) else {
        answer(.tooManyCodedBodies, as: .forwarded(.rejected))
        return false
      }
      body.decoder = decoder
      body.isDecoded = true
      return true
    }
  }

  /// The most bytes of the decoded body; nil for no limit.
  private var decodedBytes: Int64? {
    guard let bodyLimit else { return context.bodyBytes }
    return min(bodyLimit, context.bodyBytes ?? bodyLimit)
  }

  /// Takes bytes of the coded body.
  func decode(_ bytes: UnsafeRawBufferPointer) -> WeirServer.BodyFlow {
    guard let coder = body.decoder else { return .proceed }
    let isDecoded = decode { sink throws(CompressionError) in
      try coder.take(bytes, in: exchange.loop.turnTime, into: sink)
    }
    guard isDecoded else { return .proceed }
    let flow = noteReceived(bytes.count)
    return outgoing != nil && waits(for: coder) ? .pause : flow
  }

  /// The buffer has room again: decodes what is pending, or asks for more.
  func fillBuffer() {
    if let coder = body.decoder, waits(for: coder) { return }
    exchange.resumeReading()
  }

  /// Whether bytes are pending, which are decoded in the next turn, or once there is room.
  private func waits(for coder: BodyCoder) -> Bool {
    guard coder.hasPending else { return false }
    if body.looksForRoom() { exchange.loop.schedule(coder.turnTimer, at: .now, handler: self) }
    return true
  }

  func decodeMore() {
    guard outgoing != nil, let coder = body.decoder, body.hasRoom else { return }
    let isDecoded = decode { sink throws(CompressionError) in
      try coder.step(in: exchange.loop.turnTime, into: sink)
    }
    guard isDecoded else { return }
    let flow = noteReceived(0)
    if outgoing != nil, !waits(for: coder), flow == .proceed { exchange.resumeReading() }
  }

  /// Whether the body that has ended is complete in its coding.
  func isWhole() -> Bool {
    guard let coder = body.decoder else { return body.defect == nil }
    let isDecoded = decode { sink throws(CompressionError) in try coder.finish(into: sink) }
    dropDecoder()
    return isDecoded
  }

  /// Counts what was decoded, and releases the decoder at once.
  func dropDecoder() {
    guard let decoder = body.decoder else { return }
    body.decoder = nil
    exchange.loop.cancel(decoder.turnTimer)
    plan.countCoded(route, .request, decoder)
  }

  /// Returns false if the body is not decoded any further, and the request has been refused.
  private func decode(
    _ work: ((UnsafeRawBufferPointer) -> Void) throws(CompressionError) -> Void
  ) -> Bool {
    do throws(CompressionError) {
      try work { body.append($0) }
      return true
    } catch {
      switch error {
      case .sizeLimit where bodyLimit != nil: refuseBody(.overLimit)
      case .sizeLimit, .ratioLimit: refuseBody(.tooLarge)
      case .corrupt, .truncated, .misuse: refuseBody(.broken)
      case .outOfMemory: refuseBody(.crowded)
      }
      return false
    }
  }
}
