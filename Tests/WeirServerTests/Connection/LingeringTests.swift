import Testing

@testable import WeirServer

/// Connections that have answered and discard what their clients still send.
@Suite struct LingeringTests {
  private static let upload = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n"

  /// The rest of a request that was answered early is discarded at the pace of any body, and for half a minute at most.
  @Test(arguments: ["\(upload)\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n"])
  func theRestOfARequestIsDiscarded(request: String) {
    var driver = ConnectionDriver(.with { $0.bodyTimeout = 10 })
    _ = driver.receive(request)
    #expect(driver.respond() == "flush shutdown read")
    for _ in 0..<3 {
      #expect(driver.wait(9.9) == nil)
      #expect(driver.receive(String(repeating: "x", count: 1_000_000)) == "read")
    }
    #expect(driver.wait(0.2) == nil)
    #expect(driver.receive("x") == "read")
    #expect(driver.wait(0.1) == "close")

    driver = ConnectionDriver(.with { $0.bodyTimeout = 10 })
    _ = driver.receive(request)
    _ = driver.respond()
    #expect(driver.wait(9.9) == nil)
    #expect(driver.wait(0.1) == "close")
  }

  /// Where a head was refused, silence says that nothing follows.
  @Test(arguments: ["?\r\n", "\(upload)Host: b\r\n", "\(upload)Content-Length: 1\r\n\r\n"])
  func whatFollowsARefusedHeadIsDiscarded(request: String) {
    var driver = ConnectionDriver(.with { $0.bodyTimeout = 10 })
    _ = driver.receive(request)
    #expect(driver.respond() == "flush shutdown read")
    #expect(driver.wait(1.9) == nil)
    #expect(driver.receive("x") == "read")
    #expect(driver.wait(9.9) == nil)
    #expect(driver.receive("x") == "read")
    #expect(driver.wait(10) == "close")

    driver = ConnectionDriver()
    _ = driver.receive(request)
    _ = driver.respond()
    #expect(driver.wait(2) == "close")
  }

  @Test func theRestOfAMalformedBodyIsDiscarded() {
    var driver = ConnectionDriver(.with { $0.bodyTimeout = 10 })
    _ = driver.receive("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
    _ = driver.attach()
    #expect(driver.receive("x") == "refuse(400) wait")
    #expect(driver.respond() == "flush shutdown read")
    #expect(driver.wait(9.9) == nil)
    #expect(driver.wait(0.1) == "close")
  }

  /// A long limit for bodies holds here too.
  @Test func slowClientsAreAllowedTheirPace() {
    var driver = ConnectionDriver(.with { $0.bodyTimeout = 60 })
    _ = driver.receive(Self.upload + "\r\n")
    _ = driver.respond()
    #expect(driver.wait(59.9) == nil)
    #expect(driver.receive("x") == "read")
    #expect(driver.wait(0.1) == "close")
  }

  /// Clients that are not expected to send more keep their place for two seconds.
  @Test(arguments: ["GET / HTTP/1.0\r\n\r\n?", "\(upload)Expect: 100-continue\r\n\r\n"])
  func lingeringIsBounded(request: String) {
    // Refused or not.
    for limit in [nil, 10] as [Int64?] {
      var driver = ConnectionDriver(.with { $0.bodyBytes = limit })
      _ = driver.receive(request)
      #expect(driver.respond() == "flush shutdown read")
      #expect(driver.wait(2) == "close")
    }
    var driver = ConnectionDriver()
    _ = driver.receive(request)
    _ = driver.respond()
    #expect(driver.wait(1.9) == nil)
    #expect(driver.receive("more") == "read")
    #expect(driver.wait(0.1) == "close")
  }

  /// An answer that the socket does not take at once: a client that sends all before it reads has to get rid of its body.
  @Test(arguments: ["\(upload)\r\n", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1000000\r\n"])
  func theRestIsDiscardedWhileTheAnswerWaits(request: String) {
    var driver = ConnectionDriver(.with { $0.writeTimeout = 10 })
    _ = driver.receive(request)
    driver.machine.noteOutput(.blocked, now: driver.now)
    _ = driver.respond(flushed: false)
    for _ in 0..<3 { #expect(driver.receive(String(repeating: "x", count: 300_000)) == "read") }
    driver.machine.noteOutput(.empty, now: driver.now)
    #expect(driver.proceed() == "shutdown read")
    driver.machine.noteOutput(.blocked, now: driver.now)
    #expect(driver.wait(10) == "reset")
  }

  @Test func slowClientsLingerBriefly() {
    var driver = ConnectionDriver(.with { $0.bodyTimeout = 10 })
    _ = driver.receive(Self.upload + "\r\n")
    _ = driver.attach()
    #expect(driver.wait(10) == "refuse(408) wait")
    #expect(driver.respond() == "flush shutdown read")
    #expect(driver.wait(2) == "close")
  }

  @Test func stoppingEndsTheSilentOnes() {
    var driver = ConnectionDriver()
    _ = driver.receive(Self.upload + "\r\n")
    _ = driver.respond()
    driver.machine.stop(now: driver.now)
    #expect(driver.wait(1.9) == nil)
    #expect(driver.receive("x") == "read")
    #expect(driver.wait(1.9) == nil)
    #expect(driver.wait(0.1) == "close")
  }
}
