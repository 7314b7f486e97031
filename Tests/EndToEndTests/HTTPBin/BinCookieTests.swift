import Foundation
import FoundationNetworking
import Testing
import Weir
import WeirTestSupport

/// Cookies and stored responses, as httpbin has them.
@Suite(.needs(.gunicorn), .timeLimit(.minutes(5))) struct BinCookieTests {
  @Test func cookiesAreKeptAcrossRedirects() async throws {
    let client = try MeasuredSession { $0.httpCookieStorage = CookieStorage() }
    let text = try await client.text(try await Bin.url("/cookies/set?session=secret"))
    #expect(text.filter { !$0.isWhitespace } == #"{"cookies":{"session":"secret"}}"#)
    let deleted = try await client.text(try await Bin.url("/cookies/delete?session"))
    #expect(deleted.filter { !$0.isWhitespace } == #"{"cookies":{}}"#)
  }

  @Test func storedResponsesAreAskedAbout() async throws {
    let client = try MeasuredSession {
      $0.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
    }
    for path in ["/etag/one", "/cache", "/cache/60"] {
      let first = await client.get(try await Bin.url(path))
      let second = await client.get(try await Bin.url(path))
      #expect(first.value != nil && first.value == second.value && second.response?.statusCode == 200, "\(path)")
    }
    let results = ["hit", "miss", "revalidated"].map { client.sum("weir_cache_requests_total", ["result": $0]) }
    #expect(results == [1, 3, 2])
  }
}
