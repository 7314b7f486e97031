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

  @Test func whatOurOwnEngineDoesNotReach() {
    let none = [
      Self.rules { $0.http1Engine = .libcurl }, Self.rules { $0.proxy = .environment },
    ]
    for rules in none {
      #expect(!rules.usesOwn && !rules.isOwnOnceKnown)
      for isSecure in [true, false] { #expect(!rules.isOwn(isSecure: isSecure, .http1_1, speaksHTTP1: true)) }
    }
    let tunnel = Self.rules { $0.proxy = .http(host: "proxy.example", port: 1, credential: nil) }
    #expect(!tunnel.isOwn(isSecure: false, .http1_1, speaksHTTP1: true))
    #expect(tunnel.isOwn(isSecure: true, .http1_1, speaksHTTP1: true))
  }
}
