import Dispatch
import Glibc
import Testing
import WeirIO

@testable import WeirServer

/// Listeners whose sockets other processes have too. A second descriptor stands for the other process.
@Suite struct SharedListenerTests {
  private let path = "/tmp/weir-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"

  private func server(_ listener: Listener, on loop: EventLoop) -> Server {
    Server(listener: listener, loop: loop, handler: ClosureHandler { $0.respond(status: 200) })
  }

  @Test(arguments: [true, false])
  func whatWaitsIsLeftToTheOtherProcess(isInherited: Bool) throws {
    defer { unlink(path) }
    for address in [SocketAddress.loopback(port: 0), .unix(path: path)] {
      let listener: Listener, other: Socket
      if isInherited {
        other = try Socket.listening(on: address, backlog: 8)
        listener = try Listener(inheriting: #require(Socket.inherited(dup(other.descriptor))), for: address)
      } else {
        listener = try Listener(address)
        other = Socket(descriptor: dup(listener.descriptor))
        listener.handOver(true)
      }
      defer { other.close() }
      #expect(listener.isShared)
      let loops = try [EventLoop(name: "test"), EventLoop(name: "test")]
      let servers = loops.map { server(listener, on: $0) }
      for server in servers { server.start() }
      // The client comes while both loops do nothing, and the stop is the next that they do.
      let gates = servers.map { server in
        let gate = Gate()
        server.loop.post {
          gate.hold()
          server.stop(grace: 1) { gate.ended.signal() }
        }
        return gate
      }
      for gate in gates { gate.waitUntilHeld() }
      let client = try Socket.connecting(to: listener.address)
      defer { client.close() }
      for gate in gates { gate.open() }
      for gate in gates { #expect(gate.ended.wait(timeout: .now() + 30) == .success) }
      #expect(listener.serverCount == 0)
      if address.port == nil { #expect(access(path, F_OK) == 0) }
      try other.accept().socket.close()
      try Socket.connecting(to: listener.address).close()
      try other.accept().socket.close()
    }
  }

  @Test func aSocketThatWasNotTakenCloses() throws {
    let listener = try Listener(.unix(path: path))
    listener.handOver(true)
    listener.handOver(false)
    listener.close()
    #expect(access(path, F_OK) != 0)
    #expect(throws: Errno.self) { try Socket.connecting(to: .unix(path: path)) }
  }

  @Test func aServerThatComesTooLateAcceptsNothing() async throws {
    let listener = try Listener(.loopback(port: 0))
    let loop = try EventLoop(name: "test")
    let (first, late) = (server(listener, on: loop), server(listener, on: loop))
    first.start()
    await first.stop(grace: 0)
    late.start()
    await late.stop(grace: 0)
    #expect(listener.serverCount == 0)
    #expect(!listener.enter())
  }

  @Test func onlyListeningStreamSocketsAreTaken() throws {
    let datagrams = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
    let idle = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    let file = open("/dev/null", O_RDONLY)
    for descriptor in [datagrams, idle, file, -1, 1_000_000] { #expect(Socket.inherited(descriptor) == nil) }
    for descriptor in [datagrams, idle, file] { close(descriptor) }
    let listening = try Socket.listening(on: .loopback(port: 0), backlog: 8)
    defer { listening.close() }
    _ = fcntl(listening.descriptor, F_SETFD, 0)
    _ = fcntl(listening.descriptor, F_SETFL, 0)
    #expect(Socket.inherited(listening.descriptor) == listening)
    #expect(fcntl(listening.descriptor, F_GETFD) == FD_CLOEXEC)
    #expect(fcntl(listening.descriptor, F_GETFL) & O_NONBLOCK != 0)
  }
}

/// Holds a loop.
private final class Gate: Sendable {
  let ended = DispatchSemaphore(value: 0)
  private let held = DispatchSemaphore(value: 0), opened = DispatchSemaphore(value: 0)

  func hold() {
    held.signal()
    opened.wait()
  }

  func waitUntilHeld() { held.wait() }
  func open() { opened.signal() }
}
