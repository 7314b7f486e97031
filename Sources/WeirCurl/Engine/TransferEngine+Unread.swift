internal import CCurl
internal import Glibc
internal import WeirHTTP
internal import WeirIO

// Answers that come while the request is still being sent, from a server that then closes the connection. When libcurl
// can't send on it, it gives the connection up and reads nothing more. The system keeps the answer until the socket is
// closed.
extension TransferEngine {
  /// More than a socket's receive buffer holds by default.
  private static let mostUnread = 8 << 20
  private static let pieceOfUnread = 16 << 10

  /// libcurl closes a socket: keeps its unread bytes, if they may be the answer to the request that is being sent.
  func keepUnread(_ fd: CInt) {
    guard let user = sockets.user(of: fd),
      let transfer = transfers.first(where: { Unmanaged.passUnretained($0).toOpaque() == user }),
      transfer.awaitedSocket == fd, transfer.mayHaveUnread
    else { return }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: Self.pieceOfUnread)
    while bytes.count < Self.mostUnread {
      let count = piece.withUnsafeMutableBytes { recv(fd, $0.baseAddress, $0.count, CInt(MSG_DONTWAIT)) }
      guard count > 0 else { break }
      bytes += piece[..<count]
    }
    if !bytes.isEmpty { transfer.unread = UnreadResponse(bytes) }
  }

  /// Continues with the response that libcurl has not read, in place of its failure; false if the response has no final
  /// head.
  func readUnread(_ transfer: Transfer, _ result: CurlCode) -> Bool {
    guard transfer.state == .running, transfer.hasFailedToSend(result) else { return false }
    let (failure, error) = (transfer.failure, transfer.error(for: result))
    transfer.failure = nil
    transfer.awaitedSocket = -1
    transfer.sending.isComplete = true
    let isThere = transfer.readUnreadHead()
    if transfer.failure != nil {
      finish(transfer, result: .ok)
      return true
    }
    guard isThere else {
      transfer.failure = failure
      return false
    }
    transfer.heldReport = transfer.report()
    release(transfer)
    transfer.state = .held
    transfer.unreadError = error
    readUnreadBody(transfer)
    return true
  }

  /// Hands on the body as far as the delegate takes it, and settles the transfer at its end.
  func readUnreadBody(_ transfer: Transfer) {
    while transfer.failure == nil, !transfer.receiving.isPaused, var unread = transfer.unread {
      switch unread.next(atMost: Self.pieceOfUnread) {
      case .bytes(let range):
        let count = unread.bytes.withUnsafeBytes { transfer.receiveBody(UnsafeRawBufferPointer(rebasing: $0[range])) }
        // Bytes that were not taken come again.
        guard count == range.count else { return endUnread(transfer) }
        transfer.unread = unread
      case .end: return settleUnread(transfer, error: nil)
      case .cut: return settleUnread(transfer, error: transfer.unreadError)
      }
    }
    endUnread(transfer)
  }

  /// Settles a transfer that has failed or was stopped.
  private func endUnread(_ transfer: Transfer) {
    if transfer.failure != nil { settleUnread(transfer, error: transfer.error(for: .ok)) }
  }

  private func settleUnread(_ transfer: Transfer, error: TransferError?) {
    guard var report = transfer.heldReport else { return }
    report.bytesReceivedOnWire = transfer.receiving.bodyBytes
    settle(transfer, error: error, report: report)
  }
}

extension Transfer {
  /// Whether a response may have arrived that libcurl has not begun to read: for plain HTTP/1 and requests with a body
  /// only.
  fileprivate var mayHaveUnread: Bool {
    guard state == .running, !sending.isEmpty, clock.ready != nil, receiving.headerBytes == 0, expectation == .http1,
      Scheme(url: spec.url) == .http, let handle, !weir_easy_has_tls(handle.easy)
    else { return false }
    return failure == nil || isRefusedRepeat
  }

  /// Whether sending failed: at once, or because libcurl must not send the request again on another connection.
  fileprivate func hasFailedToSend(_ result: CurlCode) -> Bool {
    failure == nil ? result == .sendError : isRefusedRepeat
  }

  private var isRefusedRepeat: Bool { failure?.kind == .connectionLost || failure?.kind == .bodyNotRewindable }

  /// Reads all heads up to the final one.
  fileprivate func readUnreadHead() -> Bool {
    while receiving.phase == .head {
      guard let line = unread?.line(), let bytes = unread?.bytes else { return false }
      guard bytes.withUnsafeBytes({ receiveHeader(UnsafeRawBufferPointer(rebasing: $0[line])) }) else { return false }
    }
    if receiving.phase == .provisional, !deliverHead() { return false }
    let mayHaveBody = receiving.statusLine?.mayHaveBody ?? true
    unread?.bodyBegins(receiving.framing, hasBody: mayHaveBody && spec.method != "HEAD")
    return true
  }
}

/// The part of an HTTP/1 response that had arrived when libcurl gave up its connection, and how much of it has been
/// read.
///
/// The head's lines are handed to the reader of heads. The body is delimited here by the framing of that head (RFC 9112
/// §6.3). A close-delimited body counts as cut, as its connection ended by a failure.
struct UnreadResponse {
  /// A piece of the body.
  enum Piece: Equatable {
    case bytes(Range<Int>)
    /// The body is complete.
    case end
    /// The body ends too early, or its chunks are malformed.
    case cut
  }

  private enum Place {
    /// The greatest number for a body up to the end of the connection.
    case body(left: Int64)
    case chunks
    case end
    case cut
  }

  let bytes: [UInt8]
  private var position = 0
  private var place = Place.body(left: .max)
  private var chunks: ChunkedCoding

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    // The trailers are bounded by what was kept of the response.
    chunks = ChunkedCoding(maximumTrailers: bytes.count, isTolerant: true)
  }

  /// The next line, including its line end; nil when no complete line is left.
  mutating func line() -> Range<Int>? {
    guard let end = bytes[position...].firstIndex(of: 10) else { return nil }
    defer { position = end + 1 }
    return position..<end + 1
  }

  /// The head is over.
  mutating func bodyBegins(_ framing: ResponseFraming, hasBody: Bool) {
    place = !hasBody ? .end : framing.isChunked ? .chunks : .body(left: framing.contentLength ?? .max)
  }

  /// The next piece of the body, of at most `count` bytes.
  mutating func next(atMost count: Int) -> Piece {
    while true {
      switch place {
      case .body(let left):
        if left == 0 { return .end }
        let taken = take(min(count, Int(clamping: left)))
        place = .body(left: left - Int64(taken.count))
        return taken.isEmpty ? .cut : .bytes(taken)
      case .chunks: if let piece = takeChunks(atMost: count) { return piece }
      case .end: return .end
      case .cut: return .cut
      }
    }
  }

  private mutating func take(_ count: Int) -> Range<Int> {
    let end = min(bytes.count, position + count)
    defer { position = end }
    return position..<end
  }

  /// The next piece of a chunked body among the next `count` bytes; nil if they have only framing.
  private mutating func takeChunks(atMost count: Int) -> Piece? {
    guard position < bytes.count else { return .cut }
    let (bytes, end) = (bytes, position + min(count, bytes.count - position))
    do throws(ChunkedCoding.Defect) {
      let step = try bytes.span.extracting(0..<end).withUnsafeBytes { (bytes) throws(ChunkedCoding.Defect) in
        try chunks.parse(bytes, at: &position)
      }
      switch step {
      case .data(let range): return .bytes(range)
      case .end: place = .end
      case .needsInput: break
      }
    } catch {
      place = .cut
    }
    return nil
  }
}
