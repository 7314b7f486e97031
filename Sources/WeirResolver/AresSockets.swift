internal import CAres
internal import Glibc
internal import WeirIO

/// The reading of datagrams for c-ares: how many in one turn, and with which response code.
struct DatagramReader {
  /// The most datagrams of one turn. c-ares reads on as long as there are any.
  private static let perTurn = 64

  private var left = perTurn
  /// The response code of the datagram that c-ares works on; nil while it works on none.
  private(set) var present: ResponseCode?

  mutating func beginTurn() {
    left = Self.perTurn
    present = nil
  }

  mutating func endTurn() {
    present = nil
  }

  /// Whether one more may be read in this turn. c-ares is done with the one before.
  mutating func mayRead() -> Bool {
    present = nil
    left -= 1
    return left >= 0
  }

  /// Notes the response code, which is the low half of the fourth byte (RFC 1035 §4.1.1).
  mutating func didRead(_ bytes: UnsafeRawBufferPointer) {
    if bytes.count >= 4 { present = ResponseCode(rawValue: bytes[3] & 0x0F) }
  }
}

extension AresChannel {
  /// The calls on sockets, which do what c-ares' own do, and three things more. A socket is never inherited by a child
  /// process, not even for a moment. A closed connection raises no SIGPIPE. Datagrams are limited and looked at.
  static func makeSocketCalls() -> UnsafeMutablePointer<ares_socket_functions> {
    let calls = UnsafeMutablePointer<ares_socket_functions>.allocate(capacity: 1)
    calls.initialize(
      to: ares_socket_functions(
        asocket: { family, kind, transport, _ in
          socket(family, kind | CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), transport)
        },
        aclose: { socket, _ in Glibc.close(socket) },
        aconnect: { socket, address, length, _ in connect(socket, address, length) },
        arecvfrom: { socket, bytes, count, flags, sender, length, context in
          guard let context, let bytes else { return -1 }
          let channel = Unmanaged<AresChannel>.fromOpaque(context).takeUnretainedValue()
          let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: count)
          return channel.receive(socket, into: buffer, flags, sender, length)
        },
        asendv: { socket, pieces, count, _ in
          var message = msghdr()
          message.msg_iov = UnsafeMutablePointer(mutating: pieces)
          message.msg_iovlen = Int(count)
          return sendmsg(socket, &message, CInt(MSG_NOSIGNAL))
        }))
    return calls
  }

  /// Reads a datagram, or from a connection, for which c-ares wants no sender.
  private func receive(
    _ socket: CInt, into buffer: UnsafeMutableRawBufferPointer, _ flags: CInt,
    _ sender: UnsafeMutablePointer<sockaddr>?, _ length: UnsafeMutablePointer<socklen_t>?
  ) -> Int {
    guard let sender else { return recv(socket, buffer.baseAddress, buffer.count, flags) }
    guard datagrams.mayRead() else {
      // The socket is still ready, and the next turn reads on.
      errno = EAGAIN
      return -1
    }
    let count = recvfrom(socket, buffer.baseAddress, buffer.count, flags, sender, length)
    if count > 0 { datagrams.didRead(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
    return count
  }
}
