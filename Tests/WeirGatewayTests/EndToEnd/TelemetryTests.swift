import Testing
import WeirExporter
import WeirIO
import WeirTestSupport

@testable import WeirGateway

/// Spans on their way from a gateway to its collector.
@Suite(.timeLimit(.minutes(5))) struct TelemetryTests {
  private static let taken = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

  private static func configuration(_ route: Route, to collector: ScriptedServer?) -> Configuration {
    var configuration = Configuration(routes: [route])
    configuration.trace = TraceSettings(begins: true, sample: 1)
    var settings = TelemetrySettings()
    settings.traces.endpoint = OTLPEndpoint(collector?.url ?? "")
    settings.traces.interval = 0.05
    if collector != nil { configuration.telemetry = GatewayTelemetry(settings) }
    return configuration
  }

  private static func ask(_ rig: GatewayRig) throws -> Int? {
    let client = try rig.client()
    client.send("GET /asked HTTP/1.1\r\nHost: h\r\n\r\n")
    return client.response()?.status
  }

  @Test func aReloadIsFollowed() async throws {
    let upstream = try ScriptedServer(.answering(okResponse("")), .answering(okResponse("")))
    let (first, second) = (try ScriptedServer(.answering(Self.taken)), try ScriptedServer(.answering(Self.taken)))
    let route = try Route(to: upstream.port)
    let rig = try GatewayRig(Self.configuration(route, to: first))
    #expect(try Self.ask(rig) == 200)
    #expect(eventually { first.receivedText().contains("/asked") })
    #expect(first.requestHeads.first?.hasPrefix("POST /v1/traces HTTP/1.1\r\n") == true)
    try await rig.gateway.reload(Self.configuration(route, to: second))
    #expect(try Self.ask(rig) == 200)
    #expect(eventually { second.receivedText().contains("/asked") })
    #expect(first.requestHeads.count == 1)
    try await rig.gateway.reload(Self.configuration(route, to: nil))
    #expect(try Self.ask(rig) == 200)
    await rig.gateway.stop(grace: 5)
    #expect(second.requestHeads.count == 1)
  }

  @Test func theEndSendsWhatWaits() async throws {
    let upstream = try ScriptedServer(.answering(okResponse("")))
    let collector = try ScriptedServer(.answering(Self.taken))
    var configuration = Self.configuration(try Route(to: upstream.port), to: collector)
    configuration.telemetry?.settings.traces.interval = 3600
    let rig = try GatewayRig(configuration)
    #expect(try Self.ask(rig) == 200)
    await rig.gateway.stop(grace: 5)
    #expect(collector.receivedText().contains("/asked"))
    #expect(rig.sample("weir_telemetry_exported_total{signal=\"traces\",result=\"success\"}") == 1)
  }
}
