internal import CCurl
internal import Glibc
internal import WeirIO

/// The state of sending the request's body.
struct SendingState {
  var isPaused = false
  /// Whether sending is paused for lack of bytes, and not by the user.
  var awaitsSource = false
  var isPausedInCurl = false
  /// Bytes handed to libcurl since the last rewind.
  var supplied: Int64 = 0
  var reported: Int64 = 0
  /// Nil when the length is unknown.
  let length: Int64?
  let isEmpty: Bool
  var isComplete: Bool
  /// libcurl has the whole body already.
  var isInline = false
  /// The bytes that had been sent when the silence timer last checked.
  var seenBySilence: Int64 = 0
  var file: LoopBound<FileBody>?

  init(_ body: TransferBody) {
    length = body.length
    if case .none = body { isEmpty = true } else { isEmpty = false }
    isComplete = length == 0
  }
}

extension Transfer {
  /// libcurl wants more bytes of the body, and has sent those that it took before.
  func supply(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard failure == nil else { return weir_read_abort }
    clock.lastProgress = engine.now
    if sending.supplied > sending.reported { didSend(sending.supplied) }
    if failure != nil { return weir_read_abort }
    if sending.isPaused { return pauseSendingInCurl() }
    // libcurl would send more bytes than announced, and would wait forever for missing ones.
    let room = sending.length.map { Int(min(Int64(buffer.count), $0 - sending.supplied)) } ?? buffer.count
    guard room > 0 else { return taken(.end, room: 0) }
    return taken(produce(UnsafeMutableRawBufferPointer(rebasing: buffer[..<room])), room: room)
  }

  /// libcurl has to send the body again from `offset` on.
  func seek(to offset: Int64, origin: CInt) -> CInt {
    guard origin == SEEK_SET, offset >= 0, rewind(to: offset) else {
      // If the request must not be sent again anyway, its body is not the reason of the failure.
      if mayBeginRequest() { fail(.bodyNotRewindable) }
      return CURL_SEEKFUNC_FAIL
    }
    sending.supplied = offset
    sending.isComplete = sending.length == offset
    // The source may never report more bytes: those awaited were the rest of the body.
    if sending.awaitsSource { resumeSending() }
    clock.sent = nil
    return CURL_SEEKFUNC_OK
  }

  /// Bytes of the body that the system has taken.
  var uploaded: Int64 {
    guard !sending.isEmpty, let handle else { return 0 }
    let sent = weir_easy_get_offset(handle.easy, CURLINFO_SIZE_UPLOAD_T)
    // libcurl also counts the framing of chunks.
    return sending.isInline ? sent : min(sent, sending.supplied)
  }

  /// Reports the bytes that the system has taken by now.
  func reportSent() {
    let sent = uploaded
    if sent > sending.reported { didSend(sent) }
  }

  /// Whether the system has taken bytes since the last call. To a slow peer, a single buffer may take longer than the
  /// silence timeout.
  func noticeUpload() -> Bool {
    let sent = uploaded
    defer { sending.seenBySilence = sent }
    return sent != sending.seenBySilence
  }

  func openFile(_ path: String, _ size: Int64, _ engine: TransferEngine) {
    let file = engine.fileBody(path, size)
    // If the user has paused meanwhile, the bytes are sent after `resumeSending`.
    file.value.onArrival = { [weak self] in if let self, sending.awaitsSource { resumeSending() } }
    sending.file = file
  }

  private func didSend(_ total: Int64) {
    sending.reported = total
    delegate?.transfer(self, didSendBody: total)
  }

  private func produce(_ buffer: UnsafeMutableRawBufferPointer) -> BodySupply {
    switch spec.body {
    case .none: return .end
    case .bytes(let bytes):
      let count = bytes.copyBytes(from: Int(sending.supplied), to: buffer)
      return count > 0 ? .bytes(count) : .end
    case .file:
      return sending.file.map { $0.value.read(into: buffer, $0) } ?? .failed
    case .pulled:
      return delegate?.transfer(self, provideBody: buffer) ?? .failed
    }
  }

  private func taken(_ supply: BodySupply, room: Int) -> Int {
    if failure != nil { return weir_read_abort }
    switch supply {
    case .bytes(let count) where count > 0 && count <= room:
      sending.supplied += Int64(count)
      if sending.supplied == sending.length { complete() }
      return count
    case .bytes(let count) where count > room: return taken(.failed, room: room)
    case .bytes, .pause:
      sending.isPaused = true
      sending.awaitsSource = true
      return pauseSendingInCurl()
    case .end:
      guard sending.supplied == sending.length ?? sending.supplied else { return taken(.failed, room: room) }
      complete()
      return 0
    case .failed:
      fail(sending.file.map { .fileUnavailable($0.value.defect) } ?? .bodyUnavailable)
      return weir_read_abort
    }
  }

  private func complete() {
    sending.isComplete = true
    clock.sent = .now
    delegate?.transferHasSentBody(self)
  }

  private func pauseSendingInCurl() -> Int {
    sending.isPausedInCurl = true
    return weir_read_pause
  }

  private func rewind(to offset: Int64) -> Bool {
    switch spec.body {
    case .none, .bytes: true
    case .file: sending.file?.value.seek(to: offset) ?? false
    case .pulled: offset == 0 && delegate?.transferRewindBody(self) ?? false
    }
  }
}
