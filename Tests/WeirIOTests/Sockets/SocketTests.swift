import Foundation
import Glibc
import Testing
import WeirIO

@Suite struct SocketTests {
  /// A connection through a listener, both ends.
  private func connection(to address: SocketAddress) throws -> (client: Socket, server: Socket, peer: SocketAddress) {
    let listener = try Socket.listening(on: address, backlog: 8)
    defer { listener.close() }
    let client = try Socket.connecting(to: try listener.localAddress().reachable)
    #expect(client.waits(for: CInt(POLLOUT)))
    #expect(client.pendingError() == nil)
    #expect(listener.waits(for: CInt(POLLIN)))
    let (server, peer) = try listener.accept()
    return (client, server, peer)
  }

  @Test(arguments: [SocketAddress.loopback(port: 0), .any(port: 0)])
  func bytesTravel(address: SocketAddress) throws {
    let (client, server, peer) = try connection(to: address)
    #expect(peer.host == "127.0.0.1")  // also to a socket for both versions
    #expect(peer == (try client.localAddress()))
    #expect(throws: Errno.wouldBlock) { try server.receive() }
    #expect(try client.send("hello") == 5)
    #expect(server.waits(for: CInt(POLLIN)))
    #expect(try server.receive() == "hello")
    client.shutdownSending()
    #expect(server.waits(for: CInt(POLLIN)))
    #expect(try server.receive() == "")
    server.close()
    client.close()
  }

  @Test func aFileInTheWayStays() throws {
    let path = "/tmp/weir-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    defer { for name in [path, path + ".link", path + ".pipe"] { unlink(name) } }
    try "mine".write(toFile: path, atomically: false, encoding: .utf8)
    #expect(symlink(path, path + ".link") == 0)
    #expect(mkfifo(path + ".pipe", 0o600) == 0)
    for name in [path, path + ".link", path + ".pipe"] {
      #expect(throws: Errno.addressInUse) { try Socket.listening(on: .unix(path: name), backlog: 1) }
    }
    #expect(try String(contentsOfFile: path + ".link", encoding: .utf8) == "mine")
    #expect(access(path + ".pipe", F_OK) == 0)
  }

  @Test func unixSockets() throws {
    let path = "/tmp/weir-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
    defer { unlink(path) }
    let (client, server, peer) = try connection(to: .unix(path: path))
    #expect(peer == .unnamed)
    #expect(try server.localAddress() == .unix(path: path))
    server.close()
    client.close()
    // The listener has gone and left its file behind.
    let listener = try Socket.listening(on: .unix(path: path), backlog: 1)
    #expect(throws: Errno.addressInUse) { try Socket.listening(on: .unix(path: path), backlog: 1) }
    listener.close()
  }

  @Test func piecesAreSentTogether() throws {
    let pair = try SocketPair()
    defer { pair.close() }
    let pieces = ["one ", "", "three"].map { Array($0.utf8) }
    let (first, second, third) = (pieces[0], pieces[1], pieces[2])
    let count = try first.withUnsafeBytes { first in
      try second.withUnsafeBytes { second in
        try third.withUnsafeBytes { third in try pair.left.send(first, second, third) }
      }
    }
    #expect(count == 9)
    #expect(try pair.right.receive() == "one three")
  }

  @Test func fullSocketWouldBlock() throws {
    let pair = try SocketPair()
    defer { pair.close() }
    let text = String(repeating: "x", count: 1 << 20)
    #expect(throws: Errno.wouldBlock) { while true { _ = try pair.left.send(text) } }
  }

  @Test func closedPeerIsAnErrorNotASignal() throws {
    let pair = try SocketPair()
    pair.right.close()
    #expect(throws: Errno.brokenPipe) { try pair.left.send("x") }
    pair.left.close()
  }

  @Test func resetIsToldToThePeer() throws {
    let (client, server, _) = try connection(to: .loopback(port: 0))
    server.reset()
    #expect(client.waits(for: CInt(POLLIN)))
    #expect(throws: Errno.connectionReset) { try client.receive() }
    client.close()
  }

  @Test func takenAddressIsAnError() throws {
    let listener = try Socket.listening(on: .loopback(port: 0), backlog: 1)
    let address = try listener.localAddress()
    #expect(throws: Errno.addressInUse) { try Socket.listening(on: address, backlog: 1) }
    listener.close()
    try Socket.listening(on: address, backlog: 1).close()
  }

  @Test func refusedConnectionIsAnError() throws {
    let listener = try Socket.listening(on: .loopback(port: 0), backlog: 1)
    let address = try listener.localAddress()
    listener.shutdownListening()
    #expect(throws: Errno.invalidArgument) { try listener.accept() }
    listener.close()
    let refused = try Socket.connecting(to: address)
    #expect(refused.waits(for: CInt(POLLOUT)))
    #expect(refused.pendingError() == .connectionRefused)
    refused.close()
  }

  @Test func optionsOfAcceptedSockets() throws {
    let (client, server, _) = try connection(to: .loopback(port: 0))
    #expect(fcntl(server.descriptor, F_GETFL) & O_NONBLOCK != 0)
    #expect(fcntl(server.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    var noDelay: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    getsockopt(server.descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &noDelay, &length)
    #expect(noDelay == 1)
    client.close()
    server.close()
  }
}

extension Socket {
  fileprivate func waits(for events: CInt) -> Bool {
    var poll = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return Glibc.poll(&poll, 1, 5000) == 1
  }

  /// The error that an attempt to connect left behind.
  fileprivate func pendingError() -> Errno? {
    var error: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) == 0 else { return .current }
    return error == 0 ? nil : Errno(rawValue: error)
  }
}

extension SocketAddress {
  /// The address to connect to for one that stands for all.
  fileprivate var reachable: SocketAddress {
    if case .v6(high: 0, low: 0, _, let port) = self { .loopback(port: port) } else { self }
  }
}
