internal import CCurl
internal import Glibc
internal import WeirIO

/// Hears that libcurl is about to close a connection by itself.
package protocol SocketStreamOwner: AnyObject {
  /// The descriptor must not be used any more; it may soon be another connection's.
  func streamIsLost()
}

/// An established connection that libcurl no longer uses: a socket, or a TLS connection over one. Confined to the loop.
///
/// A TLS connection lives in the easy handle that opened it. Its bytes go through `curl_easy_send` and `curl_easy_recv`,
/// which walk all connections of their multi handle.
package final class SocketStream {
  package enum Received {
    /// This many bytes, at least one.
    case bytes(Int)
    /// Nothing has arrived.
    case later
    /// The peer sends no more. An end without proof may be a cut by someone in between (RFC 8446 §6.1).
    case end(isProven: Bool)
    case failed(TransferError)
  }

  package enum Sent {
    /// This many bytes, at least one.
    case bytes(Int)
    /// The system takes no more for now.
    case later
    case failed(TransferError)
  }

  package let descriptor: CInt
  package let remoteAddress: String?
  package let remotePort: Int
  let engine: TransferEngine
  let tag: (any AnyObject & Sendable)?
  var secure: TLSStream?
  /// Nil before there is one, and again once it has closed the stream.
  package var owner: (any SocketStreamOwner)?
  private var isClosed = false

  init(
    _ descriptor: CInt, engine: TransferEngine, tag: (any AnyObject & Sendable)?, address: String?, port: Int
  ) {
    self.descriptor = descriptor
    self.engine = engine
    self.tag = tag
    remoteAddress = address
    remotePort = port
  }

  package var isSecure: Bool { secure != nil }

  package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Received {
    if let secure { return secure.receive(into: buffer) }
    while true {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .end(isProven: true) }
      if errno == EAGAIN { return .later }
      if errno != EINTR { return .failed(Self.failure(.receiveError, "Recv", errno)) }
    }
  }

  package func send(_ bytes: UnsafeRawBufferPointer) -> Sent {
    if let secure { return secure.send(bytes) }
    while true {
      let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
      if count >= 0 { return .bytes(count) }
      if errno == EAGAIN { return .later }
      if errno != EINTR { return .failed(Self.failure(.sendError, "Send", errno)) }
    }
  }

  /// Whether the peer has neither closed an idle connection nor sent anything on it. Records of the TLS library's own,
  /// such as session tickets, are read.
  package var isQuiet: Bool {
    var byte: UInt8 = 0
    if let secure, !secure.isDrained || !secure.isInUse && !secure.readsIdleRecord(&byte) { return false }
    while true {
      if recv(descriptor, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) < 0, errno == EAGAIN { return true }
      guard let secure, secure.readsIdleRecord(&byte) else { return false }
    }
  }

  /// Whether the TLS library can send on only when the peer has sent something. Asked after a send that was put off.
  package var awaitsPeer: Bool { secure?.awaitsPeer ?? false }

  /// Tells the peer that nothing more comes; receiving still works.
  package func shutdownSending() {
    // A lost descriptor may be another connection's.
    if let secure, secure.handle == nil { return }
    shutdown(descriptor, CInt(SHUT_WR))
  }

  /// Ends our side of a stream, so that the peer takes it for a whole one. Receiving still works.
  package func endSending() {
    if let secure { secure.endSending(on: descriptor) }
    shutdownSending()
  }

  /// Closes the connection. Its descriptor must not be registered any more.
  package func close() {
    guard !isClosed else { return }
    isClosed = true
    if secure == nil { Glibc.close(descriptor) }
    engine.closed(self)
  }

  private static func failure(_ code: CurlCode, _ call: String, _ number: CInt) -> TransferError {
    TransferError(.curl, code: code, message: "\(call) failure: \(String(cString: strerror(number)))")
  }
}

/// The TLS of a connection, in the easy handle that opened it.
final class TLSStream {
  /// Nil once libcurl has closed the connection, or is about to.
  fileprivate(set) var handle: EasyHandle?
  private let connection: TLSConnection
  /// Whether it is within the TLS of a proxy.
  private let isNested: Bool
  /// Whether libcurl takes the connection for one in use. It does from the first call on; before that it takes it for an
  /// idle one, which it closes when that is old, or has something to read, as it opens another.
  private(set) var isInUse = false
  private var idleRecords = 0

  init(_ handle: EasyHandle, _ connection: TLSConnection, isNested: Bool) {
    self.handle = handle
    self.connection = connection
    self.isNested = isNested
    connection.configure()
  }

  /// Whether the TLS library has no bytes that nobody has read.
  var isDrained: Bool { handle != nil && !connection.hasPending }

  var awaitsPeer: Bool { handle != nil && connection.awaitsPeer }

  /// The most records of the TLS library's own in a row on an idle connection.
  private static let idleRecordLimit = 64

  /// Reads a record of the TLS library's own. False if it is another one or only a part, whose rest would be taken for
  /// the next response, or if there have been too many.
  func readsIdleRecord(_ byte: inout UInt8) -> Bool {
    idleRecords += 1
    guard idleRecords <= Self.idleRecordLimit else { return false }
    return withUnsafeMutableBytes(of: &byte) { if case .later = receive(into: $0) { isDrained } else { false } }
  }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> SocketStream.Received {
    guard let handle else { return .failed(.engineFailed) }
    isInUse = true
    var count = 0
    let code = curl_easy_recv(handle.easy, buffer.baseAddress, buffer.count, &count)
    if code == CURLE_AGAIN {
      connection.releaseBuffers()
      return .later
    }
    // Newer versions of libcurl call an end without close_notify an error.
    if code != CURLE_OK { return connection.hasReadEnd ? .end(isProven: false) : .failed(error(code, handle)) }
    if count > 0 {
      idleRecords = 0
      return .bytes(count)
    }
    return .end(isProven: connection.peerHasClosed)
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> SocketStream.Sent {
    guard let handle else { return .failed(.engineFailed) }
    isInUse = true
    var count = 0
    let code = curl_easy_send(handle.easy, bytes.baseAddress, bytes.count, &count)
    if code == CURLE_AGAIN { return .later }
    if code != CURLE_OK { return .failed(error(code, handle)) }
    return count > 0 ? .bytes(count) : .later
  }

  /// Says that no more bytes come (close_notify, RFC 8446 §6.1).
  func endSending(on descriptor: CInt) {
    // Within another TLS connection the record could not be written to the socket itself.
    guard handle != nil, !isNested, let alert = connection.closeNotify() else { return }
    // A socket that takes no 31 bytes when all else was sent has a peer that doesn't read.
    _ = alert.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
  }

  private func error(_ code: CURLcode, _ handle: EasyHandle) -> TransferError {
    let text = handle.errorText[0] == 0 ? curl_easy_strerror(code) : UnsafePointer(handle.errorText)
    return TransferError(
      .curl, code: CurlCode(rawValue: code.rawValue),
      message: text.map { CurlText.sanitized(String(cString: $0)) } ?? "")
  }
}

extension TransferEngine {
  /// Keeps the handle with its connection, out of reach of the transfer that opened it.
  func pin(_ stream: SocketStream, from transfer: Transfer) {
    guard let handle = transfer.handle else { return }
    loop.cancel(handle.silenceTimer)
    // Later calls of libcurl's must not look for the transfer.
    _ = weir_easy_set_pointer(handle.easy, CURLOPT_PRIVATE, nil)
    endLookup(of: transfer)
    transfer.handle = nil
    handle.transfer = nil
    pinned[stream.descriptor] = stream
  }

  /// A connection outside of libcurl is over.
  func closed(_ stream: SocketStream) {
    unpin(stream)
    observer?.engineDidCloseConnection(tag: stream.tag)
  }

  /// Gives the handle of a TLS connection back to libcurl, which closes the connection and its socket, as soon as it is
  /// not being called.
  private func unpin(_ stream: SocketStream) {
    guard let secure = stream.secure, let handle = secure.handle else { return }
    secure.handle = nil
    if pinned[stream.descriptor] === stream { pinned[stream.descriptor] = nil }
    guard isInside else { return giveBack(handle) }
    unpinned.append(handle)
    scheduleFlush()
  }

  /// Gives back the handles that were unpinned while libcurl was being called.
  func giveBackUnpinned() {
    let handles = unpinned
    unpinned.removeAll()
    for handle in handles { giveBack(handle) }
  }

  private func giveBack(_ handle: EasyHandle) {
    if let multi { inside { _ = curl_multi_remove_handle(multi, handle.easy) } }
  }

  /// libcurl closes a connection by itself.
  func lose(_ stream: SocketStream) {
    stream.owner?.streamIsLost()
    unpin(stream)
  }

  /// The multi handle is about to go, and with it the TLS connections.
  func loseAll() {
    for stream in pinned.values { lose(stream) }
  }
}
