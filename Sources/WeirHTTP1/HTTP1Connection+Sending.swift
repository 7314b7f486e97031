internal import Glibc
import WeirCurl
import WeirHTTP
import WeirIO

/// Bytes of a request that are to be sent: an end of a head, then an end of the body with its framing.
struct PendingOutput {
  private(set) var bytes: [UInt8] = []
  private var position = 0
  /// How many of the bytes at the end are framing, and how many before those are content.
  private var framing = 0
  private var content = 0

  var isEmpty: Bool { position == bytes.count }

  /// The content that is left.
  var contentLeft: Int { min(content, max(0, bytes.count - position - framing)) }

  mutating func set(_ bytes: UnsafeRawBufferPointer, content: Int, framing: Int) {
    self.bytes = Array(bytes)
    self.content = content
    self.framing = framing
    position = 0
  }

  mutating func taken(_ count: Int) {
    position += count
    if isEmpty { removeAll() }
  }

  mutating func removeAll() {
    if bytes.isEmpty { return }
    self = PendingOutput()
  }

  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[position...])) }
  }
}

// The request.
extension HTTP1Connection {
  /// The most bytes in front of and behind the content of a chunk: its size in hexadecimal digits, line ends, and the
  /// last chunk.
  private static let chunkFront = 18
  private static let chunkBehind = 8

  /// Sends the head, and the body with it if that is there and small.
  func sendHead(of transfer: HTTP1Transfer) {
    engine.head.removeAll(keepingCapacity: engine.head.capacity <= HTTP1Engine.bufferSize)
    RequestHeadWriter.append(
      to: &engine.head, method: transfer.spec.method, target: transfer.target,
      host: transfer.forwarded?.hostField ?? origin.hostField,
      fields: transfer.upload.isRefusedConsent
        ? transfer.headers.block.leavingOut("expect") : transfer.headers.block,
      isChunked: transfer.upload.isChunked, length: transfer.upload.isEmpty ? nil : transfer.upload.length,
      upgrade: transfer.spec.upgrade ?? "",
      proxyAuthorization: transfer.forwarded == nil ? [] : origin.key.proxy?.credential?.authorization ?? [])
    let headCount = engine.head.count
    if transfer.upload.expectsContinue {
      transfer.upload.awaitsContinue = true
      awaitPeer(from: .now)
    } else if !transfer.upload.isEmpty, transfer.spec.body.leavesWithHead, case .bytes(let bytes) = transfer.spec.body {
      let count = bytes.count
      engine.head.append(atMost: count) { place in
        place += bytes.copyBytes(from: 0, to: UnsafeMutableRawBufferPointer(start: place, count: count))
      }
      transfer.upload.supplied = Int64(engine.head.count - headCount)
      guard transfer.upload.supplied == transfer.upload.length ?? transfer.upload.supplied else {
        transfer.failUpload()
        return engine.need(.end, for: transfer)
      }
      transfer.upload.isComplete = true
    }
    engine.head.withUnsafeBytes { write($0, content: Int(transfer.upload.supplied), framing: 0, transfer) }
    transfer.hasSent = sendError == nil
    if sendError == nil { transfer.tally.headerBytesSent += Int64(headCount) }
    if output.isEmpty, transfer.upload.isComplete { transfer.times.sent = transfer.times.ready }
    if !transfer.upload.isOver || !output.isEmpty { engine.need(.send, for: transfer) }
  }

  /// The server, or the time, lets the body be sent.
  func mayContinue(_ transfer: HTTP1Transfer) {
    guard transfer.upload.awaitsContinue else { return }
    transfer.upload.awaitsContinue = false
    engine.need(.send, for: transfer)
  }

  /// Sends what is left, and as much of the body as the source gives, the system takes and the others' turn allows.
  func sendBody() {
    guard let transfer, transfer.failure == nil else { return }
    var share = TurnShare()
    while self.transfer === transfer, transfer.failure == nil {
      if !output.isEmpty {
        flush(transfer)
        guard output.isEmpty else { break }
        reportSent(transfer)
        if transfer.failure != nil { break }
      }
      let upload = transfer.upload
      if upload.isOver || upload.isPaused || upload.awaitsContinue { break }
      if share.isUsedUp { break }
      share.count(sendPiece(transfer))
    }
    guard self.transfer === transfer else { return }
    if transfer.failure != nil { return transfer.end() }
    let upload = transfer.upload
    sendsWhenReadable = !output.isEmpty && stream.awaitsPeer
    let hasMore = !output.isEmpty || !(upload.isOver || upload.isPaused || upload.awaitsContinue)
    watchSending(hasMore && !sendsWhenReadable)
    if upload.isOver, output.isEmpty {
      if transfer.times.sent == nil, upload.isComplete { transfer.times.sent = .now }
      if upload.isRaw { endTunnelSending(transfer) }
      finishIfDone(transfer)
    }
  }

  /// Tells the delegate of the bytes that the system has taken by now.
  func reportSent(_ transfer: HTTP1Transfer) {
    guard !transfer.upload.isEmpty, transfer.upload.sent > transfer.upload.reported else { return }
    transfer.upload.reported = transfer.upload.sent
    transfer.delegate?.transfer(transfer, didSendBody: transfer.upload.sent)
  }

  /// Asks the source for a piece of the body and sends it. Returns the number of its bytes.
  private func sendPiece(_ transfer: HTTP1Transfer) -> Int {
    let isChunked = transfer.upload.isChunked
    let front = isChunked ? Self.chunkFront : 0
    var room = engine.outgoing.count - front - Self.chunkBehind
    if let length = transfer.upload.length { room = Int(min(Int64(room), length - transfer.upload.supplied)) }
    let buffer = UnsafeMutableRawBufferPointer(rebasing: engine.outgoing[front..<front + room])
    switch transfer.produce(buffer) {
    case .bytes(let count) where count > 0 && count <= room:
      transfer.upload.supplied += Int64(count)
      let isLast = transfer.upload.supplied == transfer.upload.length
      if isLast { transfer.upload.isComplete = true }
      send(content: front..<front + count, isChunked: isChunked, transfer)
      if isLast { transfer.delegate?.transferHasSentBody(transfer) }
      return count
    case .bytes(let count) where count > room: transfer.failUpload()
    case .bytes, .pause:
      transfer.upload.isPaused = true
      transfer.upload.awaitsSource = true
    case .end:
      guard transfer.upload.supplied == transfer.upload.length ?? transfer.upload.supplied else {
        transfer.failUpload()
        return 0
      }
      transfer.upload.isComplete = true
      if isChunked { sendLastChunk(transfer) }
      transfer.delegate?.transferHasSentBody(transfer)
    case .failed: transfer.failUpload()
    }
    return 0
  }

  private func send(content: Range<Int>, isChunked: Bool, _ transfer: HTTP1Transfer) {
    var range = content
    if isChunked {
      // RFC 9112 §7.1: the size in hexadecimal digits, CRLF, the content, CRLF.
      var (index, size) = (content.lowerBound - 2, content.count)
      (engine.outgoing[index], engine.outgoing[index + 1]) = (.carriageReturn, .lineFeed)
      repeat {
        index -= 1
        engine.outgoing[index] = Self.digits[size & 15]
        size >>= 4
      } while size > 0
      (engine.outgoing[content.upperBound], engine.outgoing[content.upperBound + 1]) = (.carriageReturn, .lineFeed)
      range = index..<content.upperBound + 2
    }
    write(
      UnsafeRawBufferPointer(rebasing: engine.outgoing[range]), content: content.count, framing: isChunked ? 2 : 0,
      transfer)
    reportSent(transfer)
  }

  private static let digits = Array("0123456789abcdef".utf8)

  private func sendLastChunk(_ transfer: HTTP1Transfer) {
    let text: StaticString = "0\r\n\r\n"
    let bytes = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    write(bytes, content: 0, framing: bytes.count, transfer)
  }

  /// Sends the bytes, or keeps what the system does not take.
  private func write(_ bytes: UnsafeRawBufferPointer, content: Int, framing: Int, _ transfer: HTTP1Transfer) {
    var taken = 0
    switch stream.send(bytes) {
    case .bytes(let count):
      transfer.times.lastProgress = engine.loop.turnTime
      taken = count
    case .later: break
    case .failed(let error): return sendingFailed(error, transfer)
    }
    if taken < bytes.count {
      output.set(bytes, content: content, framing: framing)
      output.taken(taken)
    }
    transfer.upload.sent = transfer.upload.supplied - Int64(output.contentLeft)
  }

  private func flush(_ transfer: HTTP1Transfer) {
    switch output.withBytes({ stream.send($0) }) {
    case .bytes(let count):
      output.taken(count)
      transfer.times.lastProgress = engine.loop.turnTime
      transfer.upload.sent = transfer.upload.supplied - Int64(output.contentLeft)
    case .later: return
    case .failed(let error): sendingFailed(error, transfer)
    }
  }

  /// The peer takes no more. It may have sent a response before.
  private func sendingFailed(_ error: TransferError, _ transfer: HTTP1Transfer) {
    sendError = error
    isSpoilt = true
    abandonUpload(transfer)
    engine.need(.receive, for: transfer)
  }
}

extension HTTP1Transfer {
  /// Asks the source for bytes of the body.
  func produce(_ buffer: UnsafeMutableRawBufferPointer) -> BodySupply {
    guard !buffer.isEmpty else { return .end }
    if upload.isRaw { return delegate?.transfer(self, provideBody: buffer) ?? .failed }
    switch spec.body {
    case .none: return .end
    case .bytes(let bytes):
      let count = bytes.copyBytes(from: Int(upload.supplied), to: buffer)
      return count > 0 ? .bytes(count) : .end
    case .file(let path, let size):
      let file = upload.file ?? openFile(path, max(0, size))
      return file.value.read(into: buffer, file)
    case .pulled: return delegate?.transfer(self, provideBody: buffer) ?? .failed
    }
  }

  private func openFile(_ path: String, _ size: Int64) -> LoopBound<FileBody> {
    let file = engine.dialler.main.fileBody(path, size)
    file.value.onArrival = { [weak self] in if let self, upload.awaitsSource { resumeSending() } }
    upload.file = file
    return file
  }

  /// Sets the source back to its beginning; false if that is impossible.
  func rewind() -> Bool {
    guard upload.supplied > 0 else { return true }
    return switch spec.body {
    case .none, .bytes: true
    case .file: upload.file?.value.seek(to: 0) ?? true
    case .pulled: delegate?.transferRewindBody(self) ?? false
    }
  }

  func failUpload() {
    fail(upload.file.map { .fileUnavailable($0.value.defect) } ?? .bodyUnavailable)
  }
}
