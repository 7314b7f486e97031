import Glibc
import Synchronization
import Testing
import WeirIO
import WeirServer
import WeirTestSupport

@testable import WeirGateway

@Suite struct TakeoverTests {
  // MARK: What the new process is told

  @Test(
    arguments: [
      [], [.init(descriptor: 6, address: .loopback(port: 0))],
      [
        .init(descriptor: 6, address: .any(port: 8080)), .init(descriptor: 1000, address: .v4(0, port: 1)),
        .init(descriptor: 3, address: .unix(path: "/run/a b=c%20%25/ö.sock")),
        .init(descriptor: 9, address: .unix(path: "relative\n.sock")),
      ],
    ] as [[HandedOver.Item]])
  func theListenersComeBackAsTheyWere(items: [HandedOver.Item]) {
    let handedOver = HandedOver(channel: 4, items: items)
    #expect(HandedOver(parsing: handedOver.text) == handedOver)
  }

  @Test func theTextIsReadable() {
    let items: [HandedOver.Item] = [
      .init(descriptor: 6, address: .loopback(port: 8080)),
      .init(descriptor: 7, address: .unix(path: "/run/weir.sock")),
    ]
    #expect(HandedOver(channel: 4, items: items).text == "4 6=127.0.0.1:8080 7=unix:/run/weir.sock")
  }

  @Test(
    arguments: [
      "", " ", "x", "-1", "0", "2", "04", "+4", "4 ", "4 6", "4 6=", "4 6=x", "4  6=127.0.0.1:1", "4 4=127.0.0.1:1",
      "4 6=127.0.0.1:1 6=127.0.0.1:2", "4 2=127.0.0.1:1", "4 6=127.0.0.1:99999", "4 6=unix:", "99999999999", "4,5",
    ])
  func otherTextsAreRefused(text: String) {
    #expect(HandedOver(parsing: text) == nil)
  }

  // MARK: The program's file

  @Test(
    arguments: [
      ("/bin/weir", "/bin/weir", ["/bin/weir"], "/bin/weir"),
      ("./weir", "/old/weir (deleted)", ["./weir"], "./weir"),
      ("weir", "/old/weir (deleted)", ["/old/weir"], "/old/weir"),
      ("/dev/fd/3", "/bin/weir", ["/bin/weir"], "/bin/weir"),
      (nil, nil, ["/bin/weir"], nil), ("", "", [""], nil), ("/a", "/b", [], nil),
    ] as [(String?, String?, [String], String?)])
  func theFileIsTheOneAtThePath(started: String?, link: String?, there: [String], path: String?) {
    #expect(ProgramFile.path(started: started, link: link) { there.contains($0) } == path)
  }

  @Test func thisProcessHasAFile() throws {
    let path = try #require(ProgramFile.current())
    #expect(access(path, X_OK) == 0)
  }

  // MARK: The socket of a listener

  @Test func socketsAreTakenByNameThenByAddress() throws {
    let sockets = InheritedSockets()
    let named = try Socket.listening(on: .loopback(port: 0), backlog: 8)
    let opened = try (0..<3).map { _ in try Socket.listening(on: .loopback(port: 0), backlog: 8) }
    sockets.add(named, named: "a")
    for socket in opened { sockets.add(socket, openedFor: .loopback(port: 0)) }
    let first = try sockets.listener(named: "a", at: .loopback(port: 0))
    #expect(first.descriptor == named.descriptor && first.isShared)
    #expect(try first.address == named.localAddress())
    let second = try sockets.listener(named: "a", at: .loopback(port: 0))
    #expect(second.descriptor == opened[0].descriptor && second.isShared)
    let third = try sockets.listener(named: "c", at: .loopback(port: 0))
    #expect(third.descriptor == opened[1].descriptor)
    let place = try opened[2].localAddress()
    sockets.closeRest()
    #expect(throws: Errno.self) { try connect(to: place) }
    let own = try sockets.listener(named: "c", at: .loopback(port: 0))
    #expect(!own.isShared)
  }

  private func connect(to address: SocketAddress) throws {
    let socket = try Socket.connecting(to: address)
    defer { socket.close() }
    var error: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    getsockopt(socket.descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
    if error != 0 { throw Errno(rawValue: error) }
  }

  // MARK: The new process, played by a shell

  private final class Seen: Sendable {
    let events = Mutex<[Successor.Event]>([])
  }

  /// Starts a shell, whose channel is the descriptor `$c`.
  private func start(
    _ script: String, on loop: EventLoop, within seconds: Double = 60
  ) async throws -> (LoopBound<Successor>, Seen) {
    let seen = Seen()
    let successor: LoopBound<Successor> = try await withCheckedThrowingContinuation { continuation in
      loop.post {
        continuation.resume(
          with: Result {
            let process = try SuccessorProcess(
              "/bin/bash", arguments: ["bash", "-c", "c=${WEIR_LISTENERS%% *}; \(script)"], environment: ["A=1"],
              sockets: [])
            return LoopBound(
              confining: Successor(process, within: seconds, on: loop) { event in
                seen.events.withLock { $0.append(event) }
              },
              on: loop)
          })
      }
    }
    return (successor, seen)
  }

  @Test func oneThatIsReadyIsToldToBegin() async throws {
    let loop = try EventLoop(name: "test")
    let directory = try TemporaryDirectory()
    let file = directory.path + "/begun"
    let (successor, seen) = try await start(
      "printf + >&$c; until read -rn1 -u$c word; do sleep 0.01; done; echo \"$word$A\" > \(file).new; mv \(file).new \(file)",
      on: loop)
    #expect(eventually { seen.events.withLock { $0 } == [.ready] })
    #expect(access(file, F_OK) != 0, "it waits for the word")
    loop.post { successor.value.begin() }
    #expect(eventually { (try? ThisProcess.text(ofFile: file)) == "+1\n" })
    loop.post { successor.value.end() }
    var status: CInt = 0
    let number = await withCheckedContinuation { continuation in
      loop.post { continuation.resume(returning: successor.value.process.number) }
    }
    #expect(waitpid(number, &status, 0) == number, "one that has begun is not ended")
  }

  @Test(
    arguments: [
      ("exit 3", 60, "it ended with the status 3 before it was ready"),
      ("printf x >&$c; exec sleep 60", 60, "it was ended by signal 9 before it was ready"),
      ("exec sleep 60", 0.05, "it did not say in time that it is ready"),
    ] as [(String, Double, String)])
  func oneThatIsNotReadyIsEnded(script: String, seconds: Double, reason: String) async throws {
    let loop = try EventLoop(name: "test")
    let (successor, seen) = try await start(script, on: loop, within: seconds)
    #expect(eventually { !seen.events.withLock { $0.isEmpty } })
    let texts = seen.events.withLock { events in
      events.map { if case .failed(let text) = $0 { text } else { "it is ready" } }
    }
    #expect(texts.count == 1 && texts.first?.hasPrefix(reason) == true, "\(texts)")
    let number = await withCheckedContinuation { continuation in
      loop.post { continuation.resume(returning: successor.value.process.number) }
    }
    #expect(kill(number, 0) == -1)
    loop.post { successor.value.end() }
  }

  @Test func oneThatIsNotWantedAnyMoreIsEnded() async throws {
    let loop = try EventLoop(name: "test")
    let (successor, seen) = try await start("printf + >&$c; exec sleep 60", on: loop)
    #expect(eventually { seen.events.withLock { $0 } == [.ready] })
    let number = await withCheckedContinuation { continuation in
      loop.post {
        successor.value.end()
        continuation.resume(returning: successor.value.process.number)
      }
    }
    #expect(kill(number, 0) == -1)
  }

  @Test func itsSignalsAreNeitherBlockedNorIgnored() throws {
    let listener = try Listener(.loopback(port: 0))
    let process = try SuccessorProcess(
      "/bin/sleep", arguments: ["sleep", "60"], environment: [],
      sockets: [.init(descriptor: listener.descriptor, address: .loopback(port: 0))])
    defer { _ = process.end() }
    let status = try ThisProcess.text(ofFile: "/proc/\(process.number)/status")
    #expect(status.contains("SigBlk:\t0000000000000000\n"))
    let ignored = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigIgn:\t") }?.dropFirst(8))
    #expect(try #require(UInt64(ignored, radix: 16)) & 1 << (UInt64(SIGPIPE) - 1) == 0)
    #expect(access("/proc/\(process.number)/fd/\(listener.descriptor)", F_OK) == 0)
  }

  @Test func aProgramThatIsNotThereIsAnError() throws {
    let none = "/nonexistent/weir"
    #expect(throws: Errno(rawValue: ENOENT)) {
      try SuccessorProcess(none, arguments: [none], environment: [], sockets: [])
    }
  }
}
