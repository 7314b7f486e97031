import Foundation
import Testing
import Weir
import WeirCurl
import WeirTestSupport
import WeirTransport

@testable import WeirGateway

@Suite struct GatewayAnswerTests {
  @Test(arguments: RequestOutcome.allCases)
  func everyOutcomeHasAnAnswer(outcome: RequestOutcome) {
    let answer = GatewayAnswer(outcome)
    let expected =
      switch outcome {
      case .timeout: 504
      case .rejected, .sessionEnded, .cancelled: 503
      default: 502
      }
    #expect(answer.status == expected)
    #expect(answer.text.hasSuffix("\n"))
    #expect(answer.retryAfter == nil)
    #expect(GatewayAnswer(outcome, nil) == answer)
  }

  @Test(arguments: [(4.2, 5), (5, 5), (0.01, 1), (nil, 1)] as [(Double?, Int)])
  func anOpenCircuitSaysWhenToComeAgain(seconds: Double?, expected: Int) {
    let answer = GatewayAnswer(.rejected, .rejected(.circuitOpen(retryAfter: seconds)))
    #expect(answer.status == 503)
    #expect(answer.retryAfter == expected)
    #expect(GatewayAnswer(.rejected, .rejected(.queueFull)).retryAfter == nil)
  }

  /// Clients learn that there is a proxy, and not which one. docs/proxies.md has the sentences.
  @Test(arguments: [
    (TransferError.Kind.proxyRefused, 403), (.proxyRefused, 502), (.proxyUnauthorized, 407), (.proxyUnreachable, 0),
    (.proxyTimeout, 0), (.proxyTLS, 0),
  ])
  func aFailureOfAProxySaysSo(kind: TransferError.Kind, status: Int) throws {
    let error = TransferError(kind, message: "the proxy http://p.example:1", proxyStatus: status)
    let failure = TransferFailure(error, advice: TransferAdvice(options: TransportOptions(), naming: .upstream))
    let answer = GatewayAnswer(RequestOutcome(.transfer(failure), status: nil), .transfer(failure))
    #expect(answer.status == (kind == .proxyTimeout ? 504 : 502))
    #expect(answer.refusal == nil)
    #expect(answer.line.contains("the proxy on the way") && !answer.line.contains("p.example"))
    let page = try PackageRoot.text(of: "docs/proxies.md")
    #expect(page.contains("| `\(kind.rawValue)` | \(answer.status) | `\(answer.line)` |"))
  }

  @Test(arguments: ShedReason.allCases)
  func aRefusalSaysWhy(reason: ShedReason) {
    let answer = GatewayAnswer(.rejected, .rejected(.overloaded(reason: reason, retryAfter: 1)))
    #expect(answer.status == 503)
    #expect(answer.retryAfter == 1)
    #expect(answer.refusal == .load(reason))
    #expect(GatewayAnswer(.rejected, .rejected(.queueFull)).refusal == nil)
  }

  /// docs/gateway.md, without outcomes and reasons: status, X-Weir-Refused, X-No-Retry, whether there is Retry-After, body.
  @Test func theDocumentHasEachRefusal() throws {
    let token = CredentialRefusal(credential: "c", reason: .invalidClient, text: "", retryAfter: 1)
    let failures =
      ShedReason.allCases.map { Rejection.overloaded(reason: $0, retryAfter: 1) }
      + [.circuitOpen(retryAfter: nil), .queueFull, .admissionTimeout, .noEndpoint]
    let answers =
      failures.map { GatewayAnswer(.rejected, .rejected($0)) } + [
        GatewayAnswer(.adaptationFailed, .unauthenticated(token)), .tooManyUploads, .tooManyCodedBodies,
        .rateLimited(retryAfter: 1), .clientIsBusy, .routeIsBusy, .tooManyTunnels, .tooManyChecks,
        .tooManyPasswords(seconds: 1), .unauthorized([]), .forbidden, .bodyOverLimit,
        .unauthorized([], isForProxy: true),
      ]
    let upstream = try Upstream(parsing: "http://host:1")
    // These name what the client has asked for.
    let forbidden =
      ["destinationPolicy refuses …, with the address and the reason", "this gateway itself listens on …"]
      .map { GatewayAnswer.forbidden(upstream, $0) } + [.forbidden(upstream, "the port is not allowed")]
    let page = try PackageRoot.text(of: "docs/gateway.md").components(separatedBy: "## Refusals").last ?? ""
    let rows = page.components(separatedBy: "\n## ")[0].split(separator: "\n").compactMap { line -> String? in
      let cells = line.split(separator: "|").map { $0.filter { $0 != "`" }.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 7, Int(cells[0]) != nil else { return nil }
      return "\(cells[0]) \(cells[1]) \(cells[2]) \(cells[3] != "–") \(cells[5])"
    }
    let expected = (answers + forbidden).map { answer in
      let (reason, kind) = (answer.refusal?.reason ?? "–", answer.refusal?.kind ?? "–")
      let line = answer.line.replacing("host:1", with: "HOST:PORT")
      return "\(answer.status) \(reason) \(kind) \(answer.retryAfter != nil) \(line)"
    }
    #expect(Set(rows) == Set(expected))
    #expect(rows.count == Set(rows).count)
  }

  @Test(arguments: [(0, 1), (0.3, 1), (7.2, 8)])
  func aMissingTokenSaysWhenToComeAgain(seconds: Double, expected: Int) {
    let refusal = CredentialRefusal(credential: "c", reason: .invalidClient, text: "s3cret", retryAfter: seconds)
    let answer = GatewayAnswer(.adaptationFailed, .unauthenticated(refusal))
    #expect(answer.status == 503)
    #expect(answer.retryAfter == expected)
    #expect(answer.refusal?.reason == "credential")
    #expect(answer.refusal?.kind == "credential")
    #expect(!answer.text.contains("s3cret"))
  }
}
