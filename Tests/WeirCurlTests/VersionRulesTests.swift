import Foundation
import Testing
import WeirCurl
import WeirHTTP
import WeirTestSupport
import WeirTransport

/// Versions of HTTP that single transfers choose.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Tool.nginx.isInstalled && Tool.openssl.isInstalled))
struct VersionRulesTests {
  private static func spec(_ url: String, _ version: HTTPVersionChoice?) -> TransferSpec {
    var spec = TransferSpec(url: url)
    spec.rules = TransferRules(httpVersion: version)
    return spec
  }

  /// Connections of one origin are shared only among requests that may speak the same versions.
  @Test(arguments: [HTTPVersionChoice.http1_1, .http2])
  func theRuleChooses(transport: HTTPVersionChoice) async throws {
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      .init("tls", listen: "ssl http2", certificates.server.directives + "location / { return 200 fine; }"))
    let authority = certificates.authority.certificate
    let rig = try await EngineRig {
      $0.httpVersion = transport
      $0.tls.roots = .file(authority)
    }
    let url = nginx.url(https: "tls")
    for (choice, isHTTP2) in [
      (HTTPVersionChoice.http1_1, false), (.http2, true), (nil, transport == .http2), (.http2, true), (.http1_1, false),
    ] {
      let outcome = await rig.transfer(Self.spec(url, choice))
      #expect(outcome.text == "fine" && outcome.error == nil, "\(outcome)")
      #expect(outcome.report?.version == (isHTTP2 ? .http2 : .http1_1), "\(String(describing: choice))")
    }
    await rig.close()
  }

  @Test func priorKnowledge() async throws {
    let nginx = try await NginxServer(
      .init("two", listen: "http2", "location / { return 200 fine; }"), .init("one", "location / { return 200 fine; }"))
    let rig = try await EngineRig()
    for _ in 0..<2 {
      let two = await rig.transfer(Self.spec(nginx.url(on: "two"), .http2PriorKnowledge))
      #expect(two.text == "fine" && two.report?.version == .http2, "\(two)")
      let one = await rig.transfer(Self.spec(nginx.url(on: "one"), .http1_1))
      #expect(one.text == "fine" && one.report?.version == .http1_1, "\(one)")
    }
    await rig.close()
  }

  /// Connections by HTTP/2 keep to their times, between requests.
  @Test(.enabled(if: CurlLibrary.hasReliableHTTP2))
  func lifetimes() async throws {
    let hole = try BlackHole()
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      .init(
        "tls", listen: "ssl http2",
        """
        \(certificates.server.directives)
        location / { return 200 fine; }
        location /never { proxy_pass http://127.0.0.1:\(hole.port); }
        """))
    let authority = certificates.authority.certificate
    let rig = try await EngineRig { $0.tls.roots = .file(authority) }
    func spec(_ path: String, idle: Double? = nil, age: Double? = nil) -> TransferSpec {
      var spec = TransferSpec(url: nginx.url(https: "tls", path))
      spec.rules = TransferRules(idleTimeout: idle, maximumAge: age, httpVersion: .http2)
      return spec
    }
    for isReused in [false, true] {
      #expect(await rig.transfer(spec("/", idle: 0.5)).report?.isReusedConnection == isReused)
    }
    try await letPass(0.6)
    #expect(await rig.transfer(spec("/", idle: 0.5)).report?.isReusedConnection == false)
    #expect(await eventually { rig.counts.open == 0 })

    let never = await rig.start(spec("/never", age: 0.5))
    try await letPass(0.7)
    let shared = await rig.transfer(spec("/", age: 0.5))
    #expect(shared.text == "fine" && shared.report?.isReusedConnection == true, "\(shared)")
    #expect(!never.isFinished, "a request is not cut")
    await never.onTransfer { transfer, _ in transfer.cancel() }
    _ = await never.outcome
    let fresh = await rig.transfer(spec("/", age: 0.5))
    #expect(fresh.text == "fine" && fresh.report?.isReusedConnection == false, "\(fresh)")
    #expect(await eventually { rig.counts.open == 0 })
    await rig.close()
  }

  /// An endpoint that speaks HTTP/1.1 only does not keep the others from HTTP/2.
  @Test(.enabled(if: CurlLibrary.hasReliableHTTP2))
  func endpointsOfOneOriginSpeakTheirVersions() async throws {
    let certificates = try await TestCertificates()
    let site = "\(certificates.server.directives) location / { return 200 fine; }"
    let nginx = try await NginxServer(.init("one", listen: "ssl", site), .init("two", listen: "ssl http2", site))
    let authority = certificates.authority.certificate
    let rig = try await EngineRig {
      $0.httpVersion = .http1_1
      $0.tls.roots = .file(authority)
    }
    let ports = try ["one", "two"].map { try #require(URL(string: nginx.url(https: $0))?.port) }
    for _ in 0..<3 {
      for (port, isHTTP2) in zip(ports, [false, true]) {
        var spec = Self.spec("https://localhost:1/", .automatic)
        spec.endpoint = TransferEndpoint(.host("127.0.0.1", port: port))
        let outcome = await rig.transfer(spec)
        #expect(outcome.text == "fine" && outcome.report?.version == (isHTTP2 ? .http2 : .http1_1), "\(outcome)")
      }
    }
    await rig.close()
  }
}
