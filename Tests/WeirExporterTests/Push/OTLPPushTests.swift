import Testing
import Weir
import WeirTestSupport

@testable import WeirExporter

@Suite struct OTLPPushTests {
  private func push(to url: String) async throws(PushError) {
    guard let exporter = try? Exporter(listenAddress: "127.0.0.1:0") else { return }
    try await exporter.push(to: OTLPEndpoint(url), resource: [:], using: nil, encoder: CountingEncoder())
  }

  @Test(arguments: ["", "collector:4318", "ftp://h", "http://", "http://h/#a", "http://u:p@h"])
  func urlsThatCannotBe(url: String) async {
    let error = await #expect(throws: PushError.self) { try await push(to: url) }
    #expect(error?.code == .invalidURL, "\(url)")
    #expect(error?.description.hasPrefix("a collector's URL must") == true)
  }

  @Test func metricsArePushed() async throws {
    let server = try ScriptedServer(.answering { okResponse("") })
    try await push(to: server.url)
    #expect(server.receivedText().hasPrefix("POST /v1/metrics HTTP/1.1\r\n"))
    #expect(server.receivedText().hasSuffix("\r\n\r\nmetrics;"))
  }

  @Test func refusalsAreTold() async throws {
    let server = try ScriptedServer(.answering { "HTTP/1.1 400 X\r\nContent-Length: 3\r\n\r\nbad" })
    let error = await #expect(throws: PushError.self) { try await push(to: server.url) }
    #expect(error?.code == .refused && error?.statusCode == 400)
    #expect(error?.description == "the collector answered 400: bad")
  }

  @Test func partialSuccessIsAnError() async throws {
    let server = try ScriptedServer(.answering { okResponse("rejected 2") })
    let error = await #expect(throws: PushError.self) { try await push(to: server.url) }
    #expect(error?.code == .partial)
    #expect(error?.description == "the collector has not taken 2 data points: rejected 2")
  }
}
