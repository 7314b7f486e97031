import Foundation
import Testing
import Weir
import WeirTestSupport

/// Https upstreams that fail: the answer that a client of the gateway gets, and what is counted.
@Suite(.needs(.openssl, .python, .pythonHTTP2, .weir), .timeLimit(.minutes(5)))
struct GatewayFaultTests {
  /// Before the head is handed on, what fails is a 502.
  private static let before = ["nothing, notified", "nothing, bare", "nothing, reset", "nothing, garbage"]
  /// Afterwards it may only be seen by a body that is cut off.
  private static let after = [
    "length short, notified", "length short, bare", "length short, reset", "length short, garbage",
    "chunked short, notified", "chunked short, bare", "chunked short, reset", "chunked short, garbage",
    "close-delimited, bare", "close-delimited, reset", "close-delimited, garbage",
  ]

  @Test func noShortBodyLooksWhole() async throws {
    let servers = try await FaultyServers()
    let faults = ["length whole, notified"] + Self.before + Self.after
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
      case "length whole, notified": #expect(response.value == Data("body".utf8), "\(response)")
      case _ where Self.before.contains(fault): #expect(response.statusCode == 502, "\(fault): \(response)")
      default:
        let isCut = response.statusCode == 200 && response.urlErrorCode == .networkConnectionLost
        #expect(isCut || response.statusCode == 502, "\(fault): \(response)")
      }
    }
    // A request is counted after its client has seen the end.
    let page = try await eventually("the gateway has counted them all") {
      let page = ExpositionText(try await client.text(weir.metricsURL("/metrics")))
      return page.sum("weir_gateway_requests_total") == Double(faults.count) ? page : nil
    }
    #expect(page.sum("weir_gateway_requests_total", ["outcome": "success"]) == 1)
    for (index, fault) in faults.enumerated().dropFirst() {
      let expected = try #require(Fault.table.first { $0.name == fault }?.expected)
      let isBroken = if case .failed(_, .tlsError) = expected { true } else { false }
      let labels = ["route": "r\(index)", "outcome": isBroken ? "tls_error" : "transport_error"]
      #expect(page.sum("weir_gateway_requests_total", labels) == 1, "\(fault) is no \(labels)")
    }
  }
}
