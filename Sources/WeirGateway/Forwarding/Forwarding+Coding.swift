import WeirCompression
import WeirCurl
import WeirHTTP
import WeirIO
import WeirServer
import WeirTransport

// The response's body on its way through zlib.
extension Forwarding {
  /// Whether the client gets other octets than the upstream has sent.
  var isRecoded: Bool { coder.map { !$0.isPassing } ?? false }

  /// Decides about the response's coding, and adds the fields that go to the client.
  func codedHead(
    _ head: ResponseHead, by plan: CodingPlan, _ policy: HeaderPolicy, to fields: inout WeirServer.ResponseFields
  ) -> Reframing {
    let facts = ResponseFacts(
      head, status: head.status, isToHead: isHead, isToHTTP10: isHTTP10, plan.rules)
    var treatment = plan.rules.treatment(
      of: facts, for: AcceptedCodings(exchange.head.fields.combined("Accept-Encoding")))
    coder = plan.coder(for: treatment.work, self.plan.deflaters(level: plan.rules.level))
    if !isRecoded { treatment.work = .none }
    return policy.response(
      RecodedResponse(head: head, treatment: treatment), isHTTP10: head.version == .http1_0, to: &fields)
  }

  /// Takes bytes of the response. Those for which the turn has no room come again in the next one.
  func code(_ bytes: UnsafeRawBufferPointer, by coder: BodyCoder, _ attempt: Attempt) -> Flow {
    let turn = exchange.loop.turnTime
    guard coder.admits(bytes.count, in: turn) else {
      awaitTurn(coder, attempt)
      return .pause
    }
    let isCoded = write(by: coder, attempt) { sink throws(CompressionError) in
      try coder.take(bytes, in: turn, into: sink)
    }
    guard isCoded else { return .stop }
    if coder.hasPending || coder.isSpent(in: turn) { awaitTurn(coder, attempt) }
    if coder.isUnflushed, !coder.flushTimer.isArmed {
      exchange.loop.schedule(
        coder.flushTimer, at: MonotonicTime.now.advanced(bySeconds: BodyCoder.patience), handler: self)
    }
    return .proceed
  }

  /// Goes on in the next turn. Pending bytes wait until the client takes more.
  func awaitTurn(_ coder: BodyCoder, _ attempt: Attempt) {
    attempt.hold(.decoding)
    if coder.hasPending, attempt.machine.holds.contains(.sink) { return }
    exchange.loop.schedule(coder.turnTimer, at: .now, handler: self)
  }

  /// - Parameter isForTurn: Whether a new turn has begun for bytes that wait; otherwise the client is to get what has
  ///   come.
  func coderIsDue(_ coder: BodyCoder, isForTurn: Bool) {
    guard let attempt, !machine.stage.isEnding else { return }
    if isForTurn { return codeMore(coder, attempt) }
    _ = write(by: coder, attempt) { sink throws(CompressionError) in try coder.flush(into: sink) }
  }

  private func codeMore(_ coder: BodyCoder, _ attempt: Attempt) {
    guard coder.hasPending else { return attempt.release(.decoding) }
    let isCoded = write(by: coder, attempt) { sink throws(CompressionError) in
      try coder.step(in: exchange.loop.turnTime, into: sink)
    }
    guard isCoded else { return }
    if coder.hasPending { awaitTurn(coder, attempt) } else { attempt.release(.decoding) }
  }

  /// Writes what the coder makes. Returns false if the coding is broken: then the request ends.
  private func write(
    by coder: BodyCoder, _ attempt: Attempt,
    _ work: ((UnsafeRawBufferPointer) -> Void) throws(CompressionError) -> Void
  ) -> Bool {
    let before = coder.plain
    var isWritable = true
    do throws(CompressionError) {
      try work { isWritable = exchange.write($0) }
    } catch {
      fail(.transfer(TransferFailure(error)))
      return false
    }
    attempt.handedOn(Int(coder.plain - before))
    if !isWritable { awaitClient(attempt) }
    return true
  }

  /// The upstream has sent the whole body. Returns the failure if its coding is not complete.
  func finish(_ coder: BodyCoder) -> TransferFailure? {
    defer { dropCoder() }
    do throws(CompressionError) {
      try coder.finish { exchange.write($0) }
      return nil
    } catch {
      return TransferFailure(error)
    }
  }

  /// Counts what was coded, and releases the coder at once.
  func dropCoder() {
    guard let coder else { return }
    self.coder = nil
    exchange.loop.cancel(coder.turnTimer)
    exchange.loop.cancel(coder.flushTimer)
    plan.countCoded(route, .response, coder)
  }
}

extension TransferFailure {
  fileprivate init(_ error: CompressionError) {
    switch error {
    case .sizeLimit, .ratioLimit: self.init(.dataLengthExceedsMaximum, "the response's body: \(error)")
    case .corrupt, .truncated, .outOfMemory, .misuse:
      self.init(.cannotDecodeContentData, "the response's body: \(error)")
    }
  }
}
