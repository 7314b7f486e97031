import Foundation
import Testing
import Weir
import WeirCurl
import WeirTestSupport

/// What a client of the gateway's gets of an upstream that fails in HTTP/2, and what is counted.
@Suite(
  .needs(.openssl, .python, .pythonHTTP2, .weir), .enabled(if: CurlLibrary.hasReliableHTTP2, "it speaks HTTP/1.1"),
  .timeLimit(.minutes(1)))
struct GatewayFaultTests {
  /// Before the head is handed on, what fails is a 502.
  private static let before = [
    "h2 reset before the head, internal error", "h2 reset before the head, refused",
    "h2 goaway of the request, protocol error", "h2 end before the head, bare", "h2 garbage for settings",
  ]
  /// Afterwards it may only be seen by a body that is cut off.
  private static let after = [
    "h2 reset in the body, no error", "h2 reset in the body, cancel", "h2 goaway in the body, then the end",
    "h2 reset in a body of unknown length, internal error", "h2 HTTP/1.1 required in a body of unknown length",
    "h2 end in the body, bare", "h2 end in a body of unknown length, bare", "h2 end of stream before the length",
    "h2 more than the length",
  ]

  @Test func noShortBodyLooksWhole() async throws {
    let servers = try await FaultyServers()
    let faults = ["h2 whole"] + Self.before + Self.after
    let directory = try TemporaryDirectory()
    let routes = try faults.enumerated().map { index, fault in
      let upstream =
        "{url: \"\(try servers.url(fault))\", tls: {ca: \"\(servers.certificates.authority.certificate)\"}}"
      return "  - {name: r\(index), match: {pathPrefix: /\(index)}, stripPrefix: true, upstream: \(upstream)}\n"
    }
    let config = try directory.file("weir.yml", "routes:\n" + routes.joined())
    let weir = try await WeirProgram(["--config.file=\(config)", "--log.level=error"])
    let client = try MeasuredSession()
    for (index, fault) in faults.enumerated() {
      let response = await client.get(weir.url("/\(index)/"))
      switch fault {
      case "h2 whole": #expect(response.value == Data("body".utf8), "\(response)")
      case _ where Self.before.contains(fault): #expect(response.statusCode == 502, "\(fault): \(response)")
      default:
        let isCut = response.statusCode == 200 && response.urlErrorCode == .networkConnectionLost
        #expect(isCut || response.statusCode == 502, "\(fault): \(response)")
      }
    }
    let page = ExpositionText(try await client.text(weir.metricsURL("/metrics")))
    #expect(page.sum("weir_gateway_requests_total", ["outcome": "success"]) == 1)
    #expect(page.sum("weir_gateway_requests_total", ["outcome": "transport_error"]) == Double(faults.count - 1))
  }
}
