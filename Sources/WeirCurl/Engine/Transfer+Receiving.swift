internal import CCurl
internal import CLinux
internal import Glibc
import WeirHTTP
internal import WeirIO

/// The state of receiving the response.
struct ReceivingState {
  enum Phase: UInt8 {
    case head
    /// libcurl may answer the head, a 417, by sending the request again without Expect (RFC 9110 §10.1.1).
    case provisional
    case body
  }

  /// Whether the user wants no bytes for now.
  var isPaused = false
  /// Whether libcurl was told to pause, and waits to be told otherwise.
  var isPausedInCurl = false
  var phase = Phase.head
  /// The lines of the head so far.
  var head: [UInt8] = []
  var headerBytes: Int64 = 0
  var bodyBytes: Int64 = 0
  var version: HTTPVersionNumber?
  var status = 0
  /// The number of interim heads that have come.
  var interimCount = 0
  /// The status line of the head under way.
  var statusLine: StatusLine?
  /// The framing of the response, from that head.
  var framing = ResponseFraming()
  var share = TurnShare()
  var turn: UInt64 = 0

  var isInterim: Bool { statusLine?.isInterim ?? false }
}

extension Transfer {
  /// The limit for interim heads, the final head and trailers together, as a multiple of the limit for one head.
  private static let headersInAll: Int64 = 8
  /// Enough capacity for the usual head, in bytes.
  private static let usualHead = 960

  /// Receives a line of a head or of trailers. False ends the transfer.
  func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    guard failure == nil else { return false }
    engine.arrivals &+= 1
    // A dial sends no request: all that comes is the proxy's answer to CONNECT.
    if dialled != nil {
      receiveReply(line)
      return true
    }
    clock.lastProgress = engine.now
    receiving.headerBytes += Int64(line.count)
    if receiving.headerBytes > Int64(engine.options.maximumHeaderSize) * Self.headersInAll {
      return fail(.headTooLarge)
    }
    if receiving.phase != .head {
      // Trailers are counted and dropped; only a status line starts another head.
      guard receiving.phase == .provisional, StatusLine(line) != nil else { return true }
      receiving.phase = .head
      forgetHead()
    }
    if clock.firstByte == nil { noteFirstByte(at: engine.now) }
    if receiving.head.count + line.count > engine.options.maximumHeaderSize { return fail(.headTooLarge) }
    if receiving.head.isEmpty {
      receiving.head.reserveCapacity(Self.usualHead)
      guard beginHead(line) else { return false }
    } else if !receiving.isInterim {
      do throws(ResponseDefect) {
        try receiving.framing.take(uncheckedLine: line)
      } catch {
        return fail(TransferError(error))
      }
    }
    receiving.head.append(headLine: line)
    guard line.first?.isLineBreak == true else { return true }
    // libcurl ends a head at any line that begins with a line break, and would then pool the connection.
    return line.count <= 2 ? endHead() : fail(.malformedHead)
  }

  /// Receives bytes of the body. Returns the answer for libcurl.
  func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard failure == nil else { return 0 }
    clock.lastProgress = engine.now
    engine.arrivals &+= 1
    if receiving.phase == .provisional, !deliverHead() { return 0 }
    if receiving.isPaused || exceedsShare(bytes.count, engine) { return pauseInCurl() }
    guard !bytes.isEmpty, let delegate else { return bytes.count }
    switch delegate.transfer(self, didReceiveBody: bytes) {
    case .proceed:
      receiving.bodyBytes += Int64(bytes.count)
      return failure == nil ? bytes.count : 0
    case .pause:
      receiving.isPaused = true
      return failure == nil ? pauseInCurl() : 0
    case .stop:
      fail(.stopped)
      return 0
    }
  }

  /// Delivers a head that was held back because another one might follow; false when the transfer must end.
  func deliverHead() -> Bool {
    guard let delegate, let version = receiving.version else { return false }
    receiving.phase = .body
    let head = ResponseHead(
      status: receiving.status, version: version, isEncoded: receiving.framing.isEncoded,
      mayNameFields: receiving.framing.mayNameFields, bytes: receiving.head)
    receiving.head = []
    switch delegate.transfer(self, didReceiveHead: head) {
    case .proceed: break
    case .pause: receiving.isPaused = true
    case .stop: return fail(.stopped)
    }
    return failure == nil
  }

  private func deliverInterim(_ line: StatusLine) -> Bool {
    receiving.interimCount += 1
    guard receiving.interimCount <= ResponseHead.mostInterim else {
      return fail(TransferError(.tooManyInterimResponses))
    }
    let head = ResponseHead(status: line.status, version: line.version, bytes: receiving.head)
    forgetHead()
    delegate?.transfer(self, didReceiveInterim: head)
    return failure == nil
  }

  /// Forgets the head so far, since another one follows.
  private func forgetHead() {
    receiving.statusLine = nil
    receiving.framing = ResponseFraming()
    receiving.head.removeAll(keepingCapacity: true)
  }

  private func beginHead(_ line: UnsafeRawBufferPointer) -> Bool {
    // Statuses above 599 are outside RFC 9110's range, but in use, and framed like any other.
    guard let line = StatusLine(line), line.status >= 100, line.version.major == 1 || expectation != .http1 else {
      return fail(.invalidStatusLine)
    }
    receiving.statusLine = line
    return true
  }

  private func endHead() -> Bool {
    guard let line = receiving.statusLine else { return true }
    if line.isInterim { return deliverInterim(line) }
    receiving.status = line.status
    receiving.version = line.version
    engine.note(line.version, of: self)
    if mayMultiplex, line.version.major == 1, engine.leavesHTTP1(to: self), !closesAfterResponse() {
      return fail(.connectionLost)
    }
    engine.sockets.noteResponse(awaitedSocket, isHTTP1: line.version.major == 1)
    if endsUnprovably(line) { return fail(.unprovableEnd) }
    // libcurl would use HTTP/1.0 on the connection from then on, and could send no body of unknown length.
    if line.version.minor == 0, line.version.major == 1, !closesAfterResponse() { return fail(.connectionLost) }
    if line.status == 401, spec.isForOneOfMany, ConnectionAuthentication.isAskedFor(in: receiving.head),
      !closesAfterResponse()
    {
      return fail(.connectionLost)
    }
    if line.status == 417, headers.expectsContinue, !sending.isEmpty {
      receiving.phase = .provisional
      return true
    }
    if line.status == 407, spec.isForOneOfMany, let forwardingProxy {
      return fail(.unauthorized(by: forwardingProxy))
    }
    if line.status >= 300 { endUpload(line.version) }
    return deliverHead()
  }

  /// libcurl is about to send the request again, and another head follows.
  func forgetProvisionalHead() {
    guard receiving.phase == .provisional else { return }
    receiving.phase = .head
    receiving.version = nil
    receiving.status = 0
    receiving.interimCount = 0
    clock.firstByte = nil
    forgetHead()
  }

  /// Makes libcurl close the connection after the response; false if that can't be done.
  private func closesAfterResponse() -> Bool {
    handle.map { weir_easy_set_long($0.easy, CURLOPT_FORBID_REUSE, 1) == CURLE_OK } ?? true
  }

  /// Ends the sending of the body: after such a head libcurl sends no more of it, unless the server closes the
  /// connection.
  private func endUpload(_ version: HTTPVersionNumber) {
    guard !sending.isEmpty, !sending.isComplete else { return }
    // libcurl considers a paused body unfinished, even if it will send no more of it.
    if sending.isPausedInCurl {
      sending.isPaused = false
      engine.need(.unpause, for: self)
    }
    // A server that reads on would wait for the rest until the connection is closed, which is only after the response.
    if version.major == 1, awaitedSocket >= 0, !receiving.framing.mayNameFields {
      shutdown(awaitedSocket, CInt(SHUT_WR))
    }
  }

  /// Whether only the end of the connection would end the body, where libcurl could not tell that end from a cut.
  private func endsUnprovably(_ line: StatusLine) -> Bool {
    guard receiving.framing.endsWithConnection, line.version.major == 1, !CurlLibrary.noticesTruncation,
      line.mayHaveBody, spec.method != "HEAD", let handle
    else { return false }
    return Scheme(url: spec.url) == .https || weir_easy_has_tls(handle.easy)
  }

  private func noteFirstByte(at now: MonotonicTime) {
    clock.firstByte = now
    if !sending.isEmpty { reportSent() }
  }

  private func pauseInCurl() -> Int {
    receiving.isPausedInCurl = true
    return weir_write_pause
  }

  /// Whether the transfer has had its share of this turn. If so, it continues in the next one, after the others.
  private func exceedsShare(_ count: Int, _ engine: TransferEngine) -> Bool {
    if receiving.turn != engine.turn {
      receiving.turn = engine.turn
      receiving.share = TurnShare()
    }
    guard receiving.share.isUsedUp else {
      receiving.share.count(count)
      return false
    }
    engine.continueNextTurn(self)
    return true
  }
}
