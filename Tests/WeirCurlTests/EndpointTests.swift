import Foundation
import Testing
import WeirCurl
import WeirIO
import WeirTestSupport
import WeirTransport

/// Transfers that lead to an endpoint in place of their URL's host.
@Suite(.timeLimit(.minutes(5)))
struct EndpointTests {
  private static func spec(_ endpoint: TransferEndpoint.Place) -> TransferSpec {
    var spec = TransferSpec(url: "http://pay.invalid:81/a?b")
    spec.endpoint = TransferEndpoint(endpoint)
    return spec
  }

  private static func server(_ body: String) throws -> ScriptedServer {
    try ScriptedServer(Script(.forever([.request, .send(okResponse(body))])))
  }

  @Test func eachEndpointHasItsConnections() async throws {
    let servers = [try Self.server("first"), try Self.server("second")]
    let rig = try await EngineRig()
    for round in 0..<3 {
      for (server, body) in zip(servers, ["first", "second"]) {
        // Made anew each time, as equal endpoints need not be the same object.
        let outcome = await rig.transfer(Self.spec(.host("127.0.0.1", port: server.port)))
        #expect(outcome.error == nil && outcome.text == body, "\(outcome)")
        #expect(outcome.report?.isReusedConnection == (round > 0))
        #expect(outcome.report?.remotePort == server.port)
      }
    }
    #expect(rig.counts.value.opened == 2)
    for server in servers {
      #expect(server.receivedText(on: 0).hasPrefix("GET /a?b HTTP/1.1\r\nHost: pay.invalid:81\r\n"))
    }
    await rig.close()
  }

  @Test func anEndpointMayBeAName() async throws {
    let server = try Self.server("named")
    let rig = try await EngineRig()
    let outcome = await rig.transfer(Self.spec(.host("localhost", port: server.port)))
    #expect(outcome.text == "named", "\(outcome)")
    await rig.close()
  }

  @Test func anEndpointMayBeAUnixSocket() async throws {
    let directory = try TemporaryDirectory()
    let path = try directory.file("socket")
    let server = try ScriptedServer(
      unixSocketPath: path, Script(.forever([.request, .send(okResponse("local"))])))
    let rig = try await EngineRig()
    for round in 0..<2 {
      var spec = Self.spec(.unixSocket(path))
      spec.addressPolicy = AddressPolicy(otherwise: .publicOnly)
      let outcome = await rig.transfer(spec)
      #expect(outcome.text == "local", "\(outcome)")
      #expect(outcome.report?.isReusedConnection == (round > 0))
    }
    #expect(server.connectionCount == 1)
    await rig.close()
  }

  @Test func thePolicyJudgesTheEndpoint() async throws {
    let server = try Self.server("never")
    let rig = try await EngineRig()
    for host in ["127.0.0.1", "localhost"] {
      var spec = Self.spec(.host(host, port: server.port))
      spec.addressPolicy = AddressPolicy(otherwise: .publicOnly)
      let outcome = await rig.transfer(spec)
      #expect(outcome.error?.kind == .addressRefused, "\(outcome)")
    }
    #expect(server.connectionCount == 0)
    await rig.close()
  }

  @Test(.enabled(if: Tool.nginx.isInstalled && Tool.openssl.isInstalled), arguments: [nil, "localhost"])
  func tlsNamesTheURLsHost(serverName: String?) async throws {
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      .init(
        "tls", listen: "ssl",
        certificates.server.directives + "location / { return 200 \"$ssl_server_name $http_host\"; }"))
    let parts = try #require(URL(string: nginx.url(https: "tls")))
    var options = TLSOptions()
    options.roots = .file(certificates.authority.certificate)
    let rig = try await EngineRig()
    var spec = TransferSpec(url: serverName == nil ? "https://localhost:1/" : "https://pay.invalid:1/")
    spec.trust = TransferTrust(options, serverName: serverName)
    spec.endpoint = TransferEndpoint(.host("127.0.0.1", port: try #require(parts.port)))
    // libcurl's engine would take the server's name for the Host field as well.
    let outcome = await rig.transfer(spec, headers: serverName == nil ? [] : ["Host: pay.invalid:1"])
    #expect(outcome.text == "localhost \(serverName == nil ? "localhost" : "pay.invalid"):1", "\(outcome)")
    await rig.close()
  }

  @Test(.enabled(if: isOwnEngine)) func idleConnectionsToAnEndpointMayBeClosed() async throws {
    let servers = [try Self.server("first"), try Self.server("second")]
    let rig = try await EngineRig()
    for server in servers { _ = await rig.transfer(Self.spec(.host("127.0.0.1", port: server.port))) }
    let gone = TransferEndpoint(.host("127.0.0.1", port: servers[0].port))
    await rig.onEngine { $0.closeIdleConnections(to: gone) }
    #expect(rig.counts.open == 1)
    let outcome = await rig.transfer(Self.spec(.host("127.0.0.1", port: servers[1].port)))
    #expect(outcome.report?.isReusedConnection == true)
    await rig.close()
  }
}
