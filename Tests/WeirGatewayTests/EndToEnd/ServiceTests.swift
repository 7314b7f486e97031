import CLinux
import Foundation
import Glibc
import Synchronization
import Testing
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// The program as a service manager starts it.
@Suite(.slow, .serialized, .timeLimit(.minutes(5))) struct ServiceTests {
  private static let anyWeb = "--web.listen-address=127.0.0.1:0"
  private static let anyPort = "--gateway.listen-address=127.0.0.1:0"

  // MARK: Notices

  @Test(arguments: [false, true])
  func aManagerIsTold(isAbstract: Bool) throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("weir-\(UUID().uuidString).yml")
    defer { try? FileManager.default.removeItem(at: file) }
    func write(_ text: String) throws { try text.write(to: file, atomically: true, encoding: .utf8) }
    try write("routes: [{name: a, respond: {status: 201}}]\n")
    let manager = try Manager(isAbstract: isAbstract)
    let weir = try WeirProcess(
      variables: "NOTIFY_SOCKET='\(manager.address)'", "serve", Self.anyPort, Self.anyWeb, "--config.file=\(file.path)")
    #expect(manager.next()?.hasPrefix("READY=1\nSTATUS=forwarding at 127.0.0.1:") == true, "\(weir.text)")
    let port = try #require(weir.port(of: "forwarding"))
    let client = try RawClient(port: port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    #expect(client.response()?.status == 201)
    try write("routes: 1\n")
    for isRight in [false, true] {
      if isRight { try write("routes: [{name: a, respond: {status: 202}}]\n") }
      let before = MonotonicTime.now.nanoseconds / 1000
      weir.send(SIGHUP)
      let reloading = manager.next() ?? ""
      #expect(reloading.hasPrefix("RELOADING=1\nMONOTONIC_USEC="))
      let time = reloading.split(separator: "\n").dropFirst().first.flatMap { Int64($0.dropFirst(15)) } ?? 0
      #expect(time >= before && time <= MonotonicTime.now.nanoseconds / 1000)
      let ready = manager.next() ?? ""
      #expect(ready.hasPrefix("READY=1\nSTATUS=forwarding at ") && ready.contains("refused") != isRight, "\(ready)")
    }
    weir.send(SIGTERM)
    #expect(manager.next()?.hasPrefix("STOPPING=1\nSTATUS=") == true)
    #expect(eventually { weir.exitStatus == 0 })
    #expect(manager.next(within: 0.1) == nil)
  }

  @Test func aManagerThatIsGoneChangesNothing() throws {
    let weir = try WeirProcess(
      variables: "NOTIFY_SOCKET=/nonexistent/notify WATCHDOG_USEC=100000", "serve", Self.anyPort, Self.anyWeb)
    #expect(eventually { weir.count(of: "the service manager can't be told") == 1 })
    #expect(weir.exitStatus == nil)
  }

  /// The process stands still for a while, and with it its loops.
  @Test func signsOfLifeComeAsLongAsItTurns() throws {
    let manager = try Manager(isAbstract: true)
    let weir = try WeirProcess(
      variables: "NOTIFY_SOCKET=\(manager.address) WATCHDOG_USEC=200000 WATCHDOG_PID=$$", "serve", Self.anyPort,
      Self.anyWeb)
    #expect(manager.next()?.hasPrefix("READY=1") == true)
    for _ in 0..<3 { #expect(manager.next() == "WATCHDOG=1") }
    weir.send(SIGSTOP)
    while manager.next(within: 0.5) != nil {}
    #expect(manager.next(within: 0.5) == nil)
    weir.send(SIGCONT)
    #expect(manager.next() == "WATCHDOG=1")
  }

  @Test func signsOfLifeThatAreForAnotherAreNotGiven() throws {
    let manager = try Manager(isAbstract: true)
    let weir = try WeirProcess(
      variables: "NOTIFY_SOCKET=\(manager.address) WATCHDOG_USEC=20000 WATCHDOG_PID=1", "serve", Self.anyPort,
      Self.anyWeb)
    #expect(manager.next()?.hasPrefix("READY=1") == true)
    #expect(manager.next(within: 0.3) == nil)
    #expect(weir.exitStatus == nil)
  }

  // MARK: Activated sockets

  @Test func activatedSocketsServeAcrossARestart() throws {
    let path = "/tmp/weir-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
    defer { unlink(path) }
    let tcp = try Socket.listening(on: .loopback(port: 0), backlog: 16)
    let unix = try Socket.listening(on: .unix(path: path), backlog: 16)
    let metrics = try Socket.listening(on: .loopback(port: 0), backlog: 16)
    defer { for socket in [tcp, unix, metrics] { socket.close() } }
    let ports = try [tcp, metrics].map { try #require(try $0.localAddress().port) }
    let directory = try TemporaryDirectory()
    let file = try directory.file(
      "weir.yml",
      """
      listeners: [{name: tcp, address: "127.0.0.1:1"}, {name: unix, address: "unix:/nonexistent/weir.sock"}]
      routes: [{name: a, respond: {status: 201}}]

      """)
    func ask() throws -> [Int?] {
      let clients = try [RawClient(port: ports[0]), RawClient(path: path), RawClient(port: ports[1])]
      for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") }
      return clients.map { $0.response()?.status }
    }
    for _ in 0..<2 {
      let weir = try WeirProcess(
        variables: "LISTEN_PID=$$ LISTEN_FDS=3 LISTEN_FDNAMES=tcp:metrics:unix",
        sockets: [tcp, metrics, unix].map(\.descriptor), "serve", "--config.file=\(file)",
        "--web.listen-address=127.0.0.1:1")
      // Connections of now wait until it has begun.
      #expect(try ask() == [201, 201, 200])
      weir.send(SIGTERM)
      #expect(eventually { weir.exitStatus == 0 }, "\(weir.text)")
      for given in ["unix:/nonexistent/weir.sock", "127.0.0.1:1"] { #expect(weir.text.contains("given=\(given)\n")) }
    }
    #expect(access(path, F_OK) == 0)
  }

  @Test(
    arguments: [
      ("LISTEN_FDS=1 LISTEN_FDNAMES=weir.socket", "one of gateway, metrics"),
      ("LISTEN_FDS=2 LISTEN_FDNAMES=gateway:gateway", "more than one socket"),
      ("LISTEN_FDS=2 LISTEN_FDNAMES=gateway", "names 1 sockets, and LISTEN_FDS tells of 2"),
      ("LISTEN_FDS=2 LISTEN_FDNAMES=gateway:metrics", "descriptor 4, is no stream socket that listens"),
      ("LISTEN_FDS=x", "no number of sockets"), ("LISTEN_FDS=1000", "17 sockets at most"),
      ("WEIR_LISTENERS=nonsense", "unset it"), ("WEIR_LISTENERS='77 78=127.0.0.1:1'", "descriptor 77 is no socket"),
    ])
  func socketsWithoutUseEndTheStart(variables: String, problem: String) throws {
    let tcp = try Socket.listening(on: .loopback(port: 0), backlog: 16)
    defer { tcp.close() }
    let datagrams = Glibc.socket(AF_INET, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(datagrams) }
    let weir = try WeirProcess(
      variables: "LISTEN_PID=$$ \(variables)", sockets: [tcp.descriptor, datagrams], "serve", Self.anyPort, Self.anyWeb)
    #expect(eventually { weir.exitStatus != nil })
    #expect(weir.exitStatus == 1)
    #expect(eventually { weir.text.contains(problem) && weir.text.contains("the environment has the problems above") })
  }

  // MARK: Takeover

  @Test func anotherProcessTakesOver() throws {
    let path = "/tmp/weir-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
    defer { unlink(path) }
    let directory = try TemporaryDirectory()
    let file = try directory.file(
      "weir.yml",
      """
      listeners: [{name: tcp, address: "127.0.0.1:0"}, {name: unix, address: "unix:\(path)"}]
      routes: [{name: a, respond: {status: 201}}]

      """)
    let manager = try Manager(isAbstract: true)
    let weir = try WeirProcess(
      variables: "NOTIFY_SOCKET=\(manager.address)", "serve", "--config.file=\(file)", Self.anyWeb)
    #expect(manager.next()?.hasPrefix("READY=1") == true)
    let port = try #require(weir.port(of: "forwarding")), metricsPort = try #require(weir.metricsPort)
    let clients = [
      try SteadyClient { try RawClient(port: port) }, try SteadyClient { try RawClient(path: path) },
      try SteadyClient(path: "/-/ready") { try RawClient(port: metricsPort) },
    ]
    var present: pid_t?
    for number in 1...3 {
      if let present { kill(present, SIGUSR2) } else { weir.send(SIGUSR2) }
      // A second one has no effect.
      if number == 1 { weir.send(SIGUSR2) }
      #expect(eventually { weir.count(of: "this process has taken over") == number }, "\(weir.text)")
      let successor = try #require(weir.successor)
      let told = manager.next() ?? ""
      #expect(told.hasPrefix("MAINPID=\(successor)\nSTATUS="), "\(told)")
      #expect(manager.next()?.hasPrefix("READY=1") == true)
      #expect(eventually { weir.count(of: "weir has ended") == number })
      present = successor
    }
    #expect(eventually { weir.exitStatus == 0 })
    let last = try #require(present)
    let status = try ThisProcess.text(ofFile: "/proc/\(last)/status")
    #expect(status.contains("SigBlk:\t0000000000004803\n"), "SIGHUP, SIGINT, SIGUSR2 and SIGTERM, which it reads")
    let marks = clients.map(\.count)
    #expect(eventually { zip(clients, marks).allSatisfy { $0.count > $1 + 10 } })
    for client in clients { #expect(client.end() == [], "\(weir.text)") }
    kill(last, SIGTERM)
    #expect(eventually { weir.count(of: "weir has ended") == 4 })
    #expect(access(path, F_OK) == 0, "the file of a socket that was handed over stays")
    #expect(throws: RawClient.ConnectFailure.self) { try RawClient(port: port) }
  }

  /// The file leads to another listener, and has a mistake for a while.
  @Test func aTakeoverReadsTheFilesOfNow() throws {
    let directory = try TemporaryDirectory()
    let (old, new) = (LoopbackPort.free(), LoopbackPort.free())
    func write(_ port: Int, _ status: Int) throws -> String {
      try directory.file(
        "weir.yml",
        "listeners: [{name: a, address: \"127.0.0.1:\(port)\"}]\nroutes: [{name: a, respond: {status: \(status)}}]\n")
    }
    let file = try write(old, 201)
    let weir = try WeirProcess("serve", "--config.file=\(file)", Self.anyWeb)
    #expect(eventually { weir.metricsPort != nil })
    _ = try write(new, 2)
    weir.send(SIGUSR2)
    #expect(eventually { weir.count(of: "the takeover failed; this process goes on") == 1 }, "\(weir.text)")
    #expect(weir.text.contains("it ended with the status 1 before it was ready"))
    let descriptors = Self.descriptors(of: weir.identifier)
    #expect(try status(at: old) == 201)
    _ = try write(new, 202)
    weir.send(SIGUSR2)
    #expect(eventually { weir.count(of: "this process has taken over") == 1 && weir.exitStatus == 0 }, "\(weir.text)")
    let successor = try #require(weir.successor)
    #expect(eventually { Self.descriptors(of: successor) == descriptors }, "none is left over")
    #expect(try status(at: new) == 202)
    #expect(throws: RawClient.ConnectFailure.self) { try RawClient(port: UInt16(old)) }
  }

  /// The number of open descriptors.
  private static func descriptors(of process: pid_t) -> Int? {
    try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
  }

  private func status(at port: Int) throws -> Int? {
    let client = try RawClient(port: UInt16(port))
    client.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    return client.response()?.status
  }
}

/// A service manager's socket.
private final class Manager: Sendable {
  let address: String
  private let descriptor: CInt

  init(isAbstract: Bool) throws {
    let name = "weir-test-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    address = isAbstract ? "@\(name)" : "/tmp/\(name)"
    let path = try #require(NotifyAddress(address)).path
    descriptor = try systemCall { socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0) }
    var system = sockaddr_un()
    system.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &system.sun_path) { $0.copyBytes(from: path) }
    let length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    _ = try systemCall {
      withUnsafePointer(to: &system) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
      }
    }
  }

  deinit {
    close(descriptor)
    unlink(address)
  }

  /// The next notice; nil if none comes in time.
  func next(within seconds: Double = 30) -> String? {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&wanted, 1, CInt(seconds * 1000)) == 1 else { return nil }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
  }
}

/// Sends one request after the other, on a connection that it keeps as long as it may.
private final class SteadyClient: Sendable {
  private struct State {
    var count = 0
    var problems: [String] = []
    var goesOn = true
    var isOver = false
  }

  private let state = Mutex(State())

  init(path: String = "/", _ connect: @escaping @Sendable () throws -> RawClient) throws {
    Thread.detachNewThread { [self] in
      var client: RawClient?
      while state.withLock({ $0.goesOn }) {
        let problem = Self.ask(path, &client, connect)
        state.withLock { state in
          state.count += 1
          if let problem { state.problems.append(problem) }
        }
      }
      state.withLock { $0.isOver = true }
    }
  }

  var count: Int { state.withLock { $0.count } }

  /// Returns what went wrong.
  func end() -> [String] {
    state.withLock { $0.goesOn = false }
    _ = eventually { state.withLock { $0.isOver } }
    return state.withLock { $0.problems }
  }

  private static func ask(_ path: String, _ client: inout RawClient?, _ connect: () throws -> RawClient) -> String? {
    do {
      let present = try client ?? connect()
      client = present
      present.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
      guard let response = present.response() else {
        client = nil
        return "no response\(present.wasReset ? ", but a reset" : "")"
      }
      if response.values("Connection") == ["close"] { client = nil }
      return response.status == 201 || response.status == 200 ? nil : "\(response.status)"
    } catch {
      client = nil
      return "\(error)"
    }
  }
}
