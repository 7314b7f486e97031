import Testing
import WeirIO

@testable import WeirExporter

/// The latest failures and the slowest requests.
@Suite struct RecentRequestsTests {
  private func request(_ seconds: Double, time: Double = 0) -> RecentRequest {
    var request = RecentRequest(time: time)
    request.seconds = seconds
    return request
  }

  @Test func theLatestFailuresStay() {
    let recent = RecentRequests()
    for number in 0..<120 { recent.noteFailure(request(0, time: Double(number))) }
    #expect(recent.lists.failures.map(\.time) == (70..<120).reversed().map { Double($0) })
  }

  @Test func theSlowestStayForFiveToTenMinutes() {
    let recent = RecentRequests()
    for number in (0..<100).shuffled() {
      if recent.isSlow(Double(number)) { recent.noteSlow(request(Double(number))) }
    }
    #expect(recent.lists.slowest.map(\.seconds) == (50..<100).reversed().map { Double($0) })
    #expect(!recent.isSlow(50) && recent.isSlow(50.5))
    recent.turn(at: .now)
    #expect(!recent.isSlow(50))
    recent.turn(at: .now.advanced(bySeconds: 301))
    #expect(recent.isSlow(0.001) && recent.lists.slowest.count == 50)
    recent.noteSlow(request(200))
    #expect(recent.lists.slowest.count == 50 && recent.lists.slowest.first?.seconds == 200)
    recent.turn(at: .now.advanced(bySeconds: 602))
    #expect(recent.lists.slowest.map(\.seconds) == [200])
    recent.turn(at: .now.advanced(bySeconds: 2000))
    #expect(recent.lists.slowest.isEmpty)
  }

  @Test(
    arguments: [
      ("/a/b", "/a/b"), ("/a?token=x", "/a"), ("/a#x?y", "/a"), ("", ""),
      ("/" + String(repeating: "a", count: 255), nil),
      ("/" + String(repeating: "ä", count: 300), "/" + String(repeating: "ä", count: 126) + "…"),
    ] as [(String, String?)])
  func pathsAreShownWithoutTheirQuery(path: String, shown: String?) {
    #expect(RecentRequest.shown(path: path) == shown ?? path)
    #expect(RecentRequest.shown(path: path).utf8.count <= RecentRequest.mostPathOctets)
  }
}
