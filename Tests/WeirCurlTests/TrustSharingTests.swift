import Foundation
import Testing
import WeirCurl
import WeirTestSupport

/// That libcurl keeps connections apart by what they were trusted for.
@Suite("§23 Sharing of connections", .enabled(if: Tool.nginx.isInstalled && Tool.openssl.isInstalled))
struct TrustSharingTests {
  /// - Parameter change: What another requirement differs in; each alone must keep connections apart.
  @Test(.timeLimit(.minutes(1))) func connectionsOfOtherRequirementsAreNotUsed() async throws {
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      .init(
        "tls", listen: "ssl",
        certificates.server.directives + "ssl_protocols TLSv1.2 TLSv1.3;"
          + "ssl_client_certificate \(certificates.authority.certificate); ssl_verify_client optional;"
          + "location / { return 200 \"$ssl_client_s_dn $ssl_server_name\"; }"))
    let authority = try Array(Data(contentsOf: URL(fileURLWithPath: certificates.authority.certificate)))
    let pin = try await TestCertificates.pin(of: certificates.server)
    let (client, second) = (certificates.client, certificates.server)
    let changes: [(name: String, body: String, change: (inout TLSOptions) -> Void)] = [
      ("nothing", " ", { _ in }),
      ("roots in memory", " ", { $0.roots = .pem(authority) }),
      ("other roots in memory", " ", { $0.roots = .pem(authority + [10]) }),
      ("pin", " ", { $0.pinnedPublicKeys = [pin] }),
      ("pins", " ", { $0.pinnedPublicKeys = [pin, "AAAA"] }),
      ("host", " ", { $0.verifiesHost = false }),
      ("chain", " ", { $0.verifiesPeer = false }),
      ("version", " ", { $0.minimumVersion = .tls13 }),
      (
        "client certificate", "CN=weir test client ",
        {
          $0.clientCertificate = .init(format: .pem, certificate: .file(client.certificate), key: .file(client.key))
        }
      ),
      (
        "client certificate in memory", "CN=weir test client ",
        {
          $0.clientCertificate = .init(
            format: .pem, certificate: .blob(bytes(of: client.certificate)), key: .blob(bytes(of: client.key)))
        }
      ),
      (
        "another client certificate", "CN=weir test server ",
        {
          $0.clientCertificate = .init(format: .pem, certificate: .file(second.certificate), key: .file(second.key))
        }
      ),
    ]
    let rig = try await EngineRig()
    let url = nginx.url(https: "tls")
    for (index, change) in changes.enumerated() {
      var options = TLSOptions()
      options.roots = .file(certificates.authority.certificate)
      change.change(&options)
      for round in 0..<2 {
        // Made anew each time, as equal requirements need not be the same object.
        var spec = TransferSpec(url: url)
        spec.trust = TransferTrust(options)
        let outcome = await rig.transfer(spec)
        #expect(outcome.error == nil && outcome.text == change.body, "\(change.name): \(outcome)")
        #expect(outcome.report?.isReusedConnection == (round == 1), "\(change.name)")
      }
      #expect(rig.counts.value.opened == index + 1, "\(change.name)")
    }
    // And none of these helps who demands more than they did.
    for (pins, roots) in [(["AAAA"], certificates.authority), ([], certificates.otherAuthority)] {
      var options = TLSOptions()
      options.roots = .file(roots.certificate)
      options.pinnedPublicKeys = pins
      var spec = TransferSpec(url: url)
      spec.trust = TransferTrust(options)
      let outcome = await rig.transfer(spec)
      #expect(outcome.error?.code == (pins.isEmpty ? .peerFailedVerification : .pinnedPublicKeyMismatch))
    }
    await rig.close()
  }

  /// A name for the server that the URL doesn't have: what is asked for, what the certificate must have, and a connection of
  /// its own.
  @Test(.timeLimit(.minutes(1))) func serverNames() async throws {
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      .init(
        "tls", listen: "ssl",
        certificates.wrongHost.directives + "location / { return 200 \"$ssl_server_name $http_host $request_uri\"; }"))
    let rig = try await EngineRig { $0.tls.roots = .file(certificates.authority.certificate) }
    var options = TLSOptions()
    options.roots = .file(certificates.authority.certificate)
    let url = nginx.url(https: "tls", host: "127.0.0.1", "/a/../b?c")
    for round in 0..<2 {
      var spec = TransferSpec(url: url)
      spec.trust = TransferTrust(options, serverName: "weir.example")
      let outcome = await rig.transfer(spec, headers: ["Host: upstream.test"])
      #expect(outcome.text == "weir.example upstream.test /a/../b?c", "\(outcome)")
      #expect(outcome.report?.isReusedConnection == (round == 1))
    }
    var spec = TransferSpec(url: url)
    spec.trust = TransferTrust(options, serverName: "other.example")
    #expect(await rig.transfer(spec).error?.certificateDefect == .wrongHost)
    #expect(await rig.get(url).error?.certificateDefect == .wrongHost)
    await rig.close()
  }
}

private func bytes(of path: String) -> [UInt8] {
  (try? Data(contentsOf: URL(fileURLWithPath: path))).map { Array($0) } ?? []
}
