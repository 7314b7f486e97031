import Testing
import WeirMetrics

@testable import WeirExporter

@Suite struct ScrapeRequestTests {
  private func request(
    query: String? = nil, accept: String? = nil, encoding: String? = nil, timeout: String? = nil
  ) throws(ScrapeRequest.Refusal) -> ScrapeRequest {
    try ScrapeRequest(
      query: query, accept: accept, acceptEncoding: encoding, announcedTimeout: timeout, timeoutLimit: 10)
  }

  @Test func aBareRequestGetsEverythingAsText() throws {
    let plain = try request()
    #expect(plain.variant == .init(format: .text, coding: .identity, names: nil))
    #expect(plain.timeout == 10)
  }

  @Test func namesAreASet() throws {
    let first = try request(query: "name[]=a&name[]=b")
    let second = try request(query: "name[]=b&name%5B%5D=a&name[]=a", timeout: "3")
    #expect(first.variant == second.variant, "identical pages are rendered once, however they are asked for")
    #expect(first.variant.names == ["a", "b"])
  }

  @Test func refusals() {
    #expect(throws: ScrapeRequest.Refusal.malformedFilter) { try request(query: "name[]=%") }
    #expect(throws: ScrapeRequest.Refusal.noAcceptableCoding) { try request(encoding: "identity;q=0") }
    #expect(ScrapeRequest.Refusal.malformedFilter.status == 400)
    #expect(ScrapeRequest.Refusal.noAcceptableCoding.status == 406)
  }
}
