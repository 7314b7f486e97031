import Testing
import WeirIO
import WeirTestSupport

@testable import WeirServer

/// Lines of input -> actions. A `Driver` stands in for the shell: it keeps what input is left, as the shell does.
@Suite struct ConnectionMachineTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  private static let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n"

  @Test func oneRequestAfterTheOther() {
    var driver = ConnectionDriver()
    #expect(driver.receive(Self.get) == "begin wait")
    #expect(driver.respond() == "flush read")
    #expect(driver.receive(Self.get + Self.get) == "begin wait")
    #expect(driver.respond() == "begin wait")
    #expect(driver.respond() == "flush read")
  }

  @Test func blockedOutputHoldsPipelinedRequestsBack() {
    var driver = ConnectionDriver()
    #expect(driver.receive(Self.get + Self.get) == "begin wait")
    driver.machine.noteOutput(.blocked, now: driver.now)
    #expect(driver.respond(flushed: false) == "wait")
    driver.machine.noteOutput(.empty, now: driver.now)
    #expect(driver.proceed() == "begin wait")
  }

  @Test func bodyGoesToItsReaderAlone() {
    var driver = ConnectionDriver()
    #expect(driver.receive(Self.post + "ab") == "begin pause")
    #expect(driver.attach() == "deliver(2) read")
    #expect(driver.receive("cd" + Self.get) == "deliver(2) endBody wait")
    #expect(driver.respond() == "begin wait")
  }

  @Test func pausedReaderGetsNothing() {
    var driver = ConnectionDriver()
    #expect(driver.receive(Self.post) == "begin pause")
    #expect(driver.attach() == "read")
    driver.machine.pauseReader()
    #expect(driver.receive("ab") == "pause")
    #expect(driver.attach() == "deliver(2) read")
  }

  @Test func unreadBodyIsDrained() {
    var driver = ConnectionDriver()
    #expect(driver.receive(Self.post + "ab") == "begin pause")
    #expect(driver.respond() == "read")
    #expect(driver.receive("cd" + Self.get) == "begin wait")
  }

  @Test func tooLongDrainEndsInLingering() {
    var driver = ConnectionDriver(.with { $0.drainBytes = 10 })
    #expect(driver.receive("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") == "begin pause")
    #expect(driver.respond() == "read")
    #expect(driver.receive("a\r\n0123456789\r\n") == "read")
    #expect(driver.receive("1\r\nx") == "shutdown read")
    #expect(driver.receive("whatever") == "read")
    #expect(driver.receive("and more") == "read")
    #expect(driver.end() == "close")
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "begin wait", "flush close"),
    ("GET / HTTP/1.0\r\n\r\n", "begin wait", "flush close"),
    ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "begin wait", "flush read"),
    // What follows the last request is never answered, and the client not reset by it.
    ("GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n", "begin wait", "flush shutdown read"),
    (
      "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 4\r\n\r\n", "begin pause",
      "flush shutdown read"
    ),
    (
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n", "begin pause",
      "flush shutdown read"
    ),
  ])
  func lastResponse(input: String, begin: String, end: String) {
    var driver = ConnectionDriver()
    #expect(driver.receive(input) == begin)
    #expect(driver.respond() == end)
  }

  @Test func continueIsOwedOnceAndOnlyBeforeTheBody() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    var driver = ConnectionDriver()
    _ = driver.receive(head)
    #expect(driver.machine.activateReader(hasInput: false, now: driver.now) == true)
    #expect(driver.machine.activateReader(hasInput: false, now: driver.now) == false)
    driver = ConnectionDriver()
    _ = driver.receive(head + "a")
    #expect(driver.machine.activateReader(hasInput: true, now: driver.now) == false)
    #expect(driver.machine.beginResponse(delimitedByClose: false, now: driver.now) == true)
  }

  /// Thousands of connections may have had one.
  @Test func largeHeadsAreGivenBack() {
    var driver = ConnectionDriver()
    _ = driver.receive("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 31 * 1024))
    #expect(Self.largestBuffer(in: driver.machine) > 31 * 1024)
    #expect(driver.receive("\r\n\r\n") == "begin wait")
    #expect(driver.respond() == "flush read")
    #expect(Self.largestBuffer(in: driver.machine) <= 4096)
  }

  private static func largestBuffer(in value: Any) -> Int {
    if let bytes = value as? [UInt8] { return bytes.capacity }
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .class { return 0 }
    return mirror.children.map { largestBuffer(in: $0.value) }.max() ?? 0
  }

  /// Of a large body the rest may stay unread, by whomever; the client has to know before it sends its next request.
  @Test(arguments: [
    ("Content-Length: 11", false, false), ("Content-Length: 11", true, false), ("Content-Length: 10", true, true),
    ("Transfer-Encoding: chunked", false, true), ("Transfer-Encoding: chunked", true, false),
  ])
  func earlyResponse(framing: String, isRead: Bool, staysOpen: Bool) {
    var driver = ConnectionDriver(.with { $0.drainBytes = 10 })
    _ = driver.receive("POST / HTTP/1.1\r\nHost: a\r\n\(framing)\r\n\r\n")
    if isRead { _ = driver.attach() }
    #expect(driver.machine.beginResponse(delimitedByClose: false, now: driver.now) == staysOpen)
  }

  @Test func refusalLingers() {
    var driver = ConnectionDriver()
    #expect(driver.receive("?\r\nrest") == "refuse(400) wait")
    #expect(driver.respond() == "flush shutdown read")
    #expect(driver.end() == "close")
  }

  @Test func refusalInTheMidstOfAResponseResets() {
    var driver = ConnectionDriver()
    #expect(driver.receive("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") == "begin pause")
    _ = driver.machine.beginResponse(delimitedByClose: false, now: driver.now)
    _ = driver.attach()
    #expect(driver.receive("x") == "reset")
  }

  @Test func ends() {
    var driver = ConnectionDriver()
    #expect(driver.end() == "close")

    driver = ConnectionDriver()
    #expect(driver.receive("GET / HT") == "read")
    #expect(driver.end() == "close")

    driver = ConnectionDriver()
    _ = driver.receive(Self.get + Self.get)
    #expect(driver.end() == "tell wait")
    #expect(driver.respond() == "begin wait")
    #expect(driver.respond() == "flush close")

    driver = ConnectionDriver()
    _ = driver.receive(Self.post + "a")
    #expect(driver.end() == "pause")
    #expect(driver.attach() == "deliver(1) cut")

    driver = ConnectionDriver()
    _ = driver.receive(Self.post)
    _ = driver.respond()
    #expect(driver.end() == "close")
  }

  @Test func stopping() {
    var driver = ConnectionDriver()
    driver.machine.stop(now: driver.now)
    #expect(driver.proceed() == "close")

    driver = ConnectionDriver()
    _ = driver.receive("GET / HT")
    driver.machine.stop(now: driver.now)
    #expect(driver.proceed() == "read")
    #expect(driver.receive("TP/1.1\r\nHost: a\r\n\r\n") == "begin wait")
    #expect(driver.machine.beginResponse(delimitedByClose: false, now: driver.now) == false)
    #expect(driver.respond() == "flush close")

    driver = ConnectionDriver()
    _ = driver.receive(Self.get)
    _ = driver.machine.beginResponse(delimitedByClose: false, now: driver.now)
    driver.machine.stop(now: driver.now)
    #expect(driver.respond() == "flush close")
  }

  /// A request may be under way on each connection that looks idle.
  @Test func stoppingWithALinger() {
    let limits = ServerLimits.with { $0.stopLinger = 1 }
    var driver = ConnectionDriver(limits)
    driver.machine.stop(now: driver.now)
    #expect(driver.proceed() == "read")
    #expect(driver.wait(0.9) == nil)
    #expect(driver.receive("GET / HT") == "read")
    #expect(driver.wait(2) == nil, "a head that has begun has its own time")
    #expect(driver.receive("TP/1.1\r\nHost: a\r\n\r\n") == "begin wait")
    #expect(driver.machine.beginResponse(delimitedByClose: false, now: driver.now) == false)
    #expect(driver.respond() == "flush shutdown read")
    #expect(driver.end() == "close")

    // Nothing comes.
    driver = ConnectionDriver(limits)
    driver.machine.stop(now: driver.now)
    _ = driver.proceed()
    #expect(driver.wait(1.1) == "shutdown read")
    #expect(driver.end() == "close")

    // Its client was promised that the connection goes on.
    driver = ConnectionDriver(limits)
    _ = driver.receive(Self.get)
    #expect(driver.machine.beginResponse(delimitedByClose: false, now: driver.now) == true)
    driver.machine.stop(now: driver.now)
    #expect(driver.respond() == "flush read")
    #expect(driver.receive(Self.get) == "begin wait")
    #expect(driver.machine.beginResponse(delimitedByClose: false, now: driver.now) == false)
    #expect(driver.respond() == "flush shutdown read")

    // Pipelined requests have arrived as well.
    driver = ConnectionDriver(limits)
    _ = driver.receive(Self.get + Self.get)
    driver.machine.stop(now: driver.now)
    #expect(driver.machine.beginResponse(delimitedByClose: false, hasInput: true, now: driver.now) == true)
    #expect(driver.respond() == "begin wait")
    #expect(driver.machine.beginResponse(delimitedByClose: false, hasInput: false, now: driver.now) == false)
    #expect(driver.respond() == "flush shutdown read")
  }

  @Test func responsesTakenBackAndCut() {
    var driver = ConnectionDriver()
    _ = driver.receive(Self.get)
    #expect(driver.machine.beginResponse(delimitedByClose: true, now: driver.now) == false)
    driver.machine.retractResponse()
    #expect(driver.machine.beginResponse(delimitedByClose: false, now: driver.now) == true)
    #expect(driver.machine.cutResponse(isDelimitedByClose: true, now: driver.now) == false, "a reset must tell it")
    #expect(driver.machine.cutResponse(isDelimitedByClose: false, now: driver.now) == true)
    #expect(driver.machine.cutResponse(isDelimitedByClose: false, now: driver.now) == false, "it has ended")
    driver.machine.noteOutput(.unsent, now: driver.now)
    #expect(driver.proceed() == "flush shutdown read")
    #expect(driver.end() == "close")
  }

  @Test func deadlines() {
    let limits = ServerLimits.with {
      $0.headerTimeout = 10
      $0.bodyTimeout = 30
      $0.idleTimeout = 75
      $0.writeTimeout = 20
    }
    var driver = ConnectionDriver(limits)
    #expect(driver.wait(9.9) == nil)
    #expect(driver.wait(0.1) == "close")

    driver = ConnectionDriver(limits)
    _ = driver.wait(5)
    _ = driver.receive("GET")
    _ = driver.wait(5)
    #expect(driver.receive(" ") == "read")
    #expect(driver.wait(4.9) == nil)
    #expect(driver.wait(0.1) == "refuse(408) wait")

    driver = ConnectionDriver(limits)
    _ = driver.receive(Self.get)
    #expect(driver.machine.deadline == .distantFuture)  // the handler's time is its own
    _ = driver.respond()
    #expect(driver.wait(74.9) == nil)
    #expect(driver.wait(0.1) == "close")

    driver = ConnectionDriver(limits)
    _ = driver.receive(Self.post)
    #expect(driver.machine.deadline == .distantFuture)
    _ = driver.attach()
    #expect(driver.wait(29.9) == nil)
    _ = driver.receive("a")
    #expect(driver.wait(29.9) == nil)
    #expect(driver.wait(0.1) == "refuse(408) wait")

    driver = ConnectionDriver(limits)
    _ = driver.receive(Self.get)
    _ = driver.machine.beginResponse(delimitedByClose: false, now: driver.now)
    driver.machine.noteOutput(.blocked, now: driver.now)
    #expect(driver.wait(19.9) == nil)
    driver.machine.noteOutput(.blocked, now: driver.now)
    #expect(driver.wait(19.9) == nil)
    #expect(driver.wait(0.1) == "reset")
  }

  @Test func evictionOrder() {
    var driver = ConnectionDriver()
    #expect(driver.machine.evictionRank == 1)
    _ = driver.receive(Self.get)
    #expect(driver.machine.evictionRank == nil)
    driver.machine.noteOutput(.blocked, now: driver.now)
    _ = driver.respond(flushed: false)
    #expect(driver.machine.evictionRank == 2)
    driver.machine.noteOutput(.empty, now: driver.now)
    _ = driver.proceed()
    #expect(driver.machine.evictionRank == 1)
    _ = driver.receive("?\r\n")
    _ = driver.respond()
    #expect(driver.machine.evictionRank == 0)
  }

  /// Whatever comes, in whatever order, the machine neither hangs nor goes on after its end.
  @Test(arguments: 0..<200)
  func endsUnderAnySequence(seed: Int) {
    var random = SeededRandom(seed: UInt64(seed))
    var driver = ConnectionDriver(.with { $0.drainBytes = 20 })
    let inputs = [
      Self.get, Self.post, "ab", "abcd", "GET ", "?\r\n", "/ HTTP/1.1\r\nHost: a\r\n\r\n", Self.get + Self.get,
    ]
    for _ in 0..<40 where driver.machine.phase != .closed {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4: _ = driver.receive(inputs.randomElement(using: &random) ?? "")
      case 4: _ = driver.attach()
      case 5: driver.machine.pauseReader()
      case 6, 7: _ = driver.respond()
      case 8: _ = driver.wait(Double.random(in: 0..<40, using: &random))
      default: if Bool.random(using: &random) { _ = driver.end() }
      }
    }
    driver.machine.stop(now: driver.now)
    _ = driver.attach()
    _ = driver.respond()
    _ = driver.end()
    _ = driver.respond()
    _ = driver.wait(1000)
    _ = driver.respond()
    _ = driver.wait(1000)
    #expect(driver.machine.phase == .closed)
    #expect(driver.receive(Self.get) == "wait")
  }
}
