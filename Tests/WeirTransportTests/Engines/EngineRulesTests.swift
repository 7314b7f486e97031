import Testing
import WeirCurl

@testable import WeirTransport

/// The engine that the rules name for a choice of versions, the transport's or the request's.
@Suite struct EngineRulesTests {
  private static func rules(_ change: (inout TransportOptions) -> Void = { _ in }) -> EngineRules {
    var options = TransportOptions()
    options.http1Engine = .own
    change(&options)
    return EngineRules(options)
  }

  private static let choices: [HTTPVersionChoice] = [.automatic, .http1_1, .http2, .http2PriorKnowledge]

  private static func isOwn(_ choice: HTTPVersionChoice, isSecure: Bool, speaksHTTP1: Bool) -> Bool {
    switch choice {
    case .automatic: !isSecure || speaksHTTP1 || !CurlLibrary.hasReliableHTTP2
    case .http1_1: true
    case .http2: !isSecure
    case .http2PriorKnowledge: false
    }
  }

  @Test(arguments: [nil] + choices.map(Optional.some), [true, false])
  func theRequestsChoiceComesFirst(choice: HTTPVersionChoice?, isSecure: Bool) {
    for transport in Self.choices {
      let rules = Self.rules { $0.httpVersion = transport }
      #expect(rules.usesOwn)
      for speaks in [true, false] {
        let isOwn = rules.isOwn(isSecure: isSecure, choice, speaksHTTP1: speaks)
        #expect(isOwn == Self.isOwn(choice ?? transport, isSecure: isSecure, speaksHTTP1: speaks), "\(transport)")
      }
    }
  }

  @Test func libcurlsEngineAlone() {
    let rules = Self.rules { $0.http1Engine = .libcurl }
    #expect(!rules.usesOwn && !rules.isOwnOnceKnown)
    for isSecure in [true, false] { #expect(!rules.isOwn(isSecure: isSecure, .http1_1, speaksHTTP1: true)) }
  }

  @Test(arguments: TransferProxy.Kind.allCases)
  func aProxyLeavesTheChoice(kind: TransferProxy.Kind) {
    let (rules, proxy) = (Self.rules(), TransferProxy(kind, host: "proxy.example", port: 1))
    for choice in Self.choices {
      for isSecure in [true, false] {
        #expect(
          rules.isOwn(isSecure: isSecure, through: proxy, choice, speaksHTTP1: false)
            == Self.isOwn(choice, isSecure: isSecure, speaksHTTP1: false), "\(choice) \(isSecure)")
      }
    }
  }
}
