import Glibc
import Synchronization
import Testing
import WeirIO

/// What a loop tells of descriptors.
@Suite struct DescriptorTests {
  @Test func readinessIsToldUntilUnregistered() throws {
    let (loop, pair, log, done) = (try EventLoop(name: "test"), try SocketPair(), Log(), Signal())
    #expect(try pair.right.send("hello") == 5)
    loop.post {
      let handler = Handler { events, _ in
        log.append("\(events.contains(.read)) \(events.contains(.write))")
        guard log.all.count == 2 else { return }  // level-triggered: told again of what was not read
        loop.unregister(pair.left.descriptor)
        loop.post { loop.post { done.raise() } }
      }
      #expect(throws: Never.self) { try loop.register(pair.left.descriptor, for: .read, handler: handler) }
    }
    #expect(done.wait())
    #expect(log.all == ["true false", "true false"])
    pair.close()
  }

  @Test func interestChanges() throws {
    let (loop, pair, log, done) = (try EventLoop(name: "test"), try SocketPair(), Log(), Signal())
    loop.post {
      let fd = pair.left.descriptor
      let handler = Handler { events, _ in
        log.append("\(events.rawValue)")
        loop.unregister(fd)
        done.raise()
      }
      #expect(throws: Never.self) {
        try loop.register(fd, for: .read, handler: handler)
        try loop.update(fd, for: [.read, .write])
      }
    }
    #expect(done.wait())
    #expect(log.all == ["\(IOEvents.write.rawValue)"])
    pair.close()
  }

  @Test func closedPeerIsTold() throws {
    let (loop, pair, log, done) = (try EventLoop(name: "test"), try SocketPair(), Log(), Signal())
    loop.post {
      let handler = Handler { events, _ in
        log.append("\(!events.isDisjoint(with: .failure))")
        loop.unregister(pair.left.descriptor)
        done.raise()
      }
      #expect(throws: Never.self) { try loop.register(pair.left.descriptor, for: [], handler: handler) }
    }
    pair.right.close()
    #expect(done.wait())
    #expect(log.all == ["true"])
    pair.left.close()
  }

  /// Both descriptors are ready in one wait; whose handler comes first ends the other, whose event is then void.
  @Test func eventsOfTheUnregisteredAreDropped() throws {
    let (loop, first, second) = (try EventLoop(name: "test"), try SocketPair(), try SocketPair())
    let (log, done) = (Log(), Signal())
    for pair in [first, second] { #expect(try pair.right.send("x") == 1) }
    loop.post {
      for pair in [first, second] {
        let handler = Handler { _, _ in
          log.append("told")
          for pair in [first, second] { loop.unregister(pair.left.descriptor) }
          loop.post { loop.post { done.raise() } }
        }
        #expect(throws: Never.self) { try loop.register(pair.left.descriptor, for: .read, handler: handler) }
      }
    }
    #expect(done.wait())
    #expect(log.all == ["told"])
    for pair in [first, second] { pair.close() }
  }

  @Test func handlersSeeTheTimeOfTheirOwnTurn() throws {
    let (loop, pair, log, done) = (try EventLoop(name: "test"), try SocketPair(), Log(), Signal())
    let sent = Mutex(MonotonicTime.now)
    loop.sync {
      let handler = Handler { _, now in
        log.append("\(loop.turnTime >= sent.withLock { $0 } && loop.turnTime <= now)")
        loop.unregister(pair.left.descriptor)
        done.raise()
      }
      #expect(throws: Never.self) { try loop.register(pair.left.descriptor, for: .read, handler: handler) }
    }
    sent.withLock { $0 = MonotonicTime.now }
    #expect(try pair.right.send("x") == 1)
    #expect(done.wait())
    #expect(log.all == ["true"])
    pair.close()
  }

  @Test func misuseIsAnError() throws {
    let (loop, pair) = (try EventLoop(name: "test"), try SocketPair())
    loop.sync {
      let handler = Handler { _, _ in }
      #expect(throws: Errno.invalidArgument) { try loop.register(-1, for: .read, handler: handler) }
      #expect(throws: Errno.invalidArgument) { try loop.update(-1, for: .read) }
      #expect(throws: Errno.invalidArgument) { try loop.update(pair.left.descriptor, for: .read) }
      #expect(throws: Errno(rawValue: EBADF)) { try loop.register(1_000_000, for: .read, handler: handler) }
      loop.unregister(-1)
      loop.unregister(1_000_000)
      loop.unregister(pair.left.descriptor)
    }
    pair.close()
  }

  @Test func endedLoopLetsGoOfHandlers() throws {
    let (pair, released) = (try SocketPair(), Signal())
    do {
      let loop = try EventLoop(name: "test")
      loop.post { [unowned loop] in
        let token = Token(released)
        let handler = Handler { _, _ in _ = token }
        #expect(throws: Never.self) { try loop.register(pair.left.descriptor, for: .read, handler: handler) }
      }
      loop.sync {}
    }
    #expect(released.wait())
    pair.close()
  }
}

/// Tells when it goes.
private final class Token {
  private let gone: Signal

  init(_ gone: Signal) {
    self.gone = gone
  }

  deinit {
    gone.raise()
  }
}
