internal import WeirIO

/// Response octets that the wire has not taken yet: a buffer of its own, and behind it at most one body that is not
/// copied. So a page that many clients fetch is held only once, however slowly they read.
struct OutputBuffer {
  /// Bodies up to this size are copied behind their head, which costs less than a second piece in the system call.
  static let copiedBodyBytes = 8 * 1024
  /// The capacity beyond which an empty buffer is released.
  private static let keptCapacity = 4 * 1024

  var bytes: [UInt8] = []
  private var sent = 0
  private var body: [UInt8] = []
  private var bodySent = 0
  /// The index in `bytes` at which the present response begins. Nil if there is none, or if the wire has some of it.
  private var mark: Int?

  var count: Int { bytes.count - sent + body.count - bodySent }
  var isEmpty: Bool { count == 0 }
  var holdsBody: Bool { !body.isEmpty }

  /// Marks the beginning of a response, which can be taken back until the wire gets a byte of it.
  mutating func beginResponse() {
    mark = bytes.count
  }

  /// Whether the wire has none of the response that began last.
  var isResponseWhole: Bool { mark != nil }

  /// Takes back the response that began last. If some of it has left, changes nothing and returns false.
  mutating func retractResponse() -> Bool {
    guard let mark else { return false }
    bytes.removeSubrange(mark...)
    self.mark = nil
    return true
  }

  /// Adds the last piece. Nothing may be appended behind it until it is sent.
  mutating func close(with body: [UInt8]) {
    if body.count <= Self.copiedBodyBytes {
      bytes.append(contentsOf: body)
    } else {
      self.body = body
    }
  }

  /// Sends as much as the wire takes. Throws the socket's errors, except `wouldBlock`.
  mutating func flush(to wire: Wire) throws(Errno) {
    while !isEmpty {
      do {
        note(sent: try send(to: wire))
      } catch .wouldBlock {
        return
      }
    }
    reset()
  }

  /// Sends the buffered octets, `piece` and `tail` in one system call, and keeps copies of what the wire didn't take.
  mutating func flush(_ piece: UnsafeRawBufferPointer, tail: [UInt8], to wire: Wire) throws(Errno) {
    let buffered = bytes.count - sent
    var taken = 0
    do {
      taken = try bytes.span.withUnsafeBytes { bytes throws(Errno) in
        try tail.span.withUnsafeBytes { tail throws(Errno) in
          try wire.send(UnsafeRawBufferPointer(rebasing: bytes[sent...]), piece, tail)
        }
      }
    } catch .wouldBlock {}
    note(sent: min(taken, buffered))
    if sent == bytes.count { reset() }
    let takenOfPiece = min(max(taken - buffered, 0), piece.count)
    bytes.reserveCapacity(bytes.count + piece.count - takenOfPiece + tail.count)
    bytes.append(contentsOf: piece[takenOfPiece...])
    bytes.append(contentsOf: tail[min(max(taken - buffered - piece.count, 0), tail.count)...])
  }

  private func send(to wire: Wire) throws(Errno) -> Int {
    try bytes.span.withUnsafeBytes { bytes throws(Errno) in
      let own = UnsafeRawBufferPointer(rebasing: bytes[sent...])
      if body.isEmpty { return try wire.send(own) }
      return try body.span.withUnsafeBytes { body throws(Errno) in
        try wire.send(own, UnsafeRawBufferPointer(rebasing: body[bodySent...]))
      }
    }
  }

  private mutating func note(sent count: Int) {
    let own = min(count, bytes.count - sent)
    sent += own
    bodySent += count - own
    if let mark, sent > mark { self.mark = nil }
    // The sent part is removed now and then. A client that never quite catches up would make it grow for ever.
    if sent >= 64 * 1024, sent < bytes.count {
      bytes.removeFirst(sent)
      mark = mark.map { $0 - sent }
      sent = 0
    }
  }

  private mutating func reset() {
    bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptCapacity)
    body = []
    (sent, bodySent) = (0, 0)
    mark = nil
  }
}

/// The way to a client: its socket, and the channel through which all bytes go once there is one.
struct Wire {
  /// The bytes that may wait in the channel: the plaintext of one record.
  private static let pieceBytes = 16 * 1024

  let socket: Socket
  let channel: (any SecureChannel)?

  /// Sends as much as the socket takes. With a channel up to 16 KiB more are taken, which `drain` sends.
  func send(_ bytes: UnsafeRawBufferPointer) throws(Errno) -> Int {
    guard let channel else { return try socket.send(bytes) }
    var taken = 0
    try encrypt(bytes, &taken, channel)
    return taken
  }

  /// Sends the pieces one after the other, without a channel in one system call.
  func send(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer,
    _ third: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
  ) throws(Errno) -> Int {
    guard let channel else { return try socket.send(first, second, third) }
    var taken = 0
    for piece in [first, second, third] {
      let before = taken
      try encrypt(piece, &taken, channel)
      if taken - before < piece.count { break }
    }
    return taken
  }

  /// Sends what waits in the channel. Throws `wouldBlock` unless that is all of it.
  func drain(_ channel: any SecureChannel) throws(Errno) {
    while !channel.output.isEmpty { channel.consumeOutput(try socket.send(channel.output)) }
  }

  /// Encrypts as many bytes as there is room for, and sends to make room. Adds their number to `taken`. Throws
  /// `wouldBlock` if that is still 0.
  private func encrypt(
    _ bytes: UnsafeRawBufferPointer, _ taken: inout Int, _ channel: any SecureChannel
  ) throws(Errno) {
    var rest = bytes
    while !rest.isEmpty {
      if channel.output.count >= Self.pieceBytes {
        do {
          try drain(channel)
        } catch .wouldBlock where taken > 0 {
          return
        }
      }
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceBytes - channel.output.count))
      guard channel.write(piece) else { throw .connectionReset }
      taken += piece.count
      rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
    }
  }
}
