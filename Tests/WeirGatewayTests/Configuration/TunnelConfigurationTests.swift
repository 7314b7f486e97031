import Testing

@testable import WeirGateway

/// The key `upgrade` of routes.
@Suite struct TunnelConfigurationTests {
  private static func configuration(_ upgrade: String) throws -> Configuration {
    let text = "routes:\n  - {name: r, upstream: \"http://h\", upgrade: \(upgrade)}\n"
    return try Configuration(parsing: Array(text.utf8), file: "weir.yml")
  }

  @Test func aListHasTheDefaults() throws {
    let rule = try Self.configuration("[websocket, x/1]").routes.first?.upgrade
    #expect(rule == TunnelRule(protocols: ["websocket", "x/1"]))
    #expect(rule?.idleTimeout == 600)
    #expect(rule?.limit == 1024)
  }

  @Test func aMappingHasAll() throws {
    let rule = try Self.configuration("{protocols: [websocket], idleTimeout: 90s, limit: 7}").routes.first?.upgrade
    #expect(rule?.protocols == ["websocket"])
    #expect(rule?.idleTimeout == 90)
    #expect(rule?.limit == 7)
  }

  private static let form = "must be at most 64 bytes: the name of a protocol, perhaps with / and a version"
  private static let otherHTTP = "requests in HTTP/2 would pass by all routes; they can't be tunnelled"

  @Test(
    arguments: [
      (
        "websocket",
        "2:46: routes[0].upgrade: expected a list of protocols such as [websocket], or a mapping with protocols"
      ),
      ("[]", "2:46: routes[0].upgrade: holds 0 protocols; give 1 to 16"),
      ("{}", "2:46: routes[0].upgrade.protocols: is missing; list the protocols, such as [websocket]"),
      ("[\"web socket\"]", "2:47: routes[0].upgrade[0]: \(form)"), ("[a/]", "2:47: routes[0].upgrade[0]: \(form)"),
      ("[a/b/c]", "2:47: routes[0].upgrade[0]: \(form)"), ("[\"\"]", "2:47: routes[0].upgrade[0]: \(form)"),
      ("[H2C]", "2:47: routes[0].upgrade[0]: \(otherHTTP)"), ("[HTTP/2.0]", "2:47: routes[0].upgrade[0]: \(otherHTTP)"),
      ("{protocols: [a], limit: 0}", "2:70: routes[0].upgrade.limit: must be 1 to 100000"),
      ("{protocols: [a], idleTimeout: 2d}", "2:76: routes[0].upgrade.idleTimeout: must be 100ms to 1d"),
      (
        "{protocols: [a], idle: 2}",
        "2:63: routes[0].upgrade.idle: unknown key; known keys are idleTimeout, limit, protocols"
      ),
    ])
  func problems(upgrade: String, problem: String) {
    let error = #expect(throws: ConfigurationError.self) { try Self.configuration(upgrade) }
    #expect(error?.problems.map { $0.description(file: "weir.yml") } == ["weir.yml:\(problem)"])
  }
}
