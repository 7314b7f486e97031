import Testing

@testable import WeirServer

/// A connection after the response 101: the client's bytes go to the reader, and each side ends by itself.
struct TunnelMachineTests {
  private static let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

  private func tunnel(early: String = "") -> ConnectionDriver {
    var driver = ConnectionDriver()
    #expect(driver.receive(Self.get + early) == "begin wait")
    driver.machine.beginTunnel()
    #expect(driver.proceed() == "pause")
    return driver
  }

  @Test func theClientEndsFirst() {
    var driver = tunnel()
    #expect(driver.attach() == "read")
    #expect(driver.receive("GET abc") == "deliver(7) read")
    #expect(driver.end() == "endBody wait")
    driver.machine.noteOutput(.unsent, now: driver.now)
    driver.machine.endTunnelOutput()
    #expect(driver.proceed() == "flush shutdown close")
    #expect(driver.machine.ending == .client)
  }

  @Test func weEndFirst() {
    var driver = tunnel()
    #expect(driver.attach() == "read")
    driver.machine.endTunnelOutput()
    #expect(driver.proceed() == "shutdown read")
    #expect(driver.receive("late") == "deliver(4) read")
    #expect(driver.end() == "endBody close")
  }

  @Test func earlyBytesWaitForTheReader() {
    var driver = tunnel(early: "early")
    #expect(driver.receive("er") == "pause")
    #expect(driver.attach() == "deliver(7) read")
  }

  @Test func aPausedReaderGetsAllBeforeTheEnd() {
    var driver = tunnel()
    #expect(driver.attach() == "read")
    driver.machine.pauseReader()
    #expect(driver.receive("abc") == "pause")
    driver.machine.endTunnelOutput()
    #expect(driver.proceed() == "shutdown pause")
    #expect(driver.end() == "pause")
    #expect(driver.attach() == "deliver(3) endBody close")
  }

  @Test func aClientThatTakesNothingIsReset() {
    var driver = tunnel()
    #expect(driver.attach() == "read")
    driver.machine.noteOutput(.blocked, now: driver.now)
    driver.machine.endTunnelOutput()
    #expect(driver.proceed() == "read")
    #expect(driver.end() == "endBody wait")
    #expect(driver.wait(29) == nil)
    #expect(driver.wait(2) == "reset")
    #expect(driver.machine.ending == .slowRead)
  }

  @Test func silenceAndStoppingAreLeftToTheHandler() {
    var driver = tunnel()
    #expect(driver.attach() == "read")
    #expect(driver.wait(86_400) == nil)
    driver.machine.stop(now: driver.now)
    #expect(driver.proceed() == "read")
    #expect(driver.wait(86_400) == nil)
    #expect(driver.machine.evictionRank == nil)
    #expect(!driver.machine.isIdle)
  }

  @Test func closingSendsWhatIsBufferedAndDropsWhatComes() {
    var driver = tunnel()
    #expect(driver.attach() == "read")
    driver.machine.noteOutput(.unsent, now: driver.now)
    driver.machine.closeTunnel(now: driver.now)
    #expect(driver.proceed() == "flush shutdown read")
    #expect(driver.receive("late") == "read")
    #expect(driver.wait(2) == "close")
  }

  @Test func closingBehindAClientThatHasEnded() {
    var driver = tunnel()
    #expect(driver.attach() == "read")
    #expect(driver.end() == "endBody wait")
    driver.machine.closeTunnel(now: driver.now)
    #expect(driver.proceed() == "close")
  }
}
