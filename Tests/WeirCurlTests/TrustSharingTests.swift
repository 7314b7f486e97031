import Foundation
import Testing
import WeirCurl
import WeirHTTP
import WeirTestSupport

/// That libcurl keeps connections apart by what they were trusted for.
@Suite("§23 Sharing of connections", .slow, .enabled(if: Tool.nginx.isInstalled && Tool.openssl.isInstalled))
struct TrustSharingTests {
  /// - Parameter change: What another requirement differs in; each alone must keep connections apart.
  @Test(.timeLimit(.minutes(5)), arguments: [false, true])
  func connectionsOfOtherRequirementsAreNotUsed(isHTTP2: Bool) async throws {
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      .init(
        "tls", listen: isHTTP2 ? "ssl http2" : "ssl",
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
    let rig = try await EngineRig { $0.httpVersion = isHTTP2 ? .http2 : .http1_1 }
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
        #expect(outcome.report?.version == (isHTTP2 ? .http2 : .http1_1))
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

  /// A session that is resumed shows no certificate: one that was got under laxer demands must not be used under others.
  @Test(.timeLimit(.minutes(5)), arguments: ["TLSv1.2", "TLSv1.3"])
  func sessionsOfOtherRequirementsAreNotResumed(version: String) async throws {
    let certificates = try await TestCertificates()
    let (authority, client) = (certificates.authority.certificate, certificates.client)
    let site = """
      ssl_protocols \(version); ssl_session_cache shared:all:1m; keepalive_timeout 0;
      ssl_client_certificate \(authority); ssl_verify_client optional;
      location / { return 200 "$ssl_session_reused $ssl_client_s_dn"; }
      """
    let nginx = try await NginxServer(
      .init("foreign", listen: "ssl", certificates.foreign.directives + site),
      .init("wrong host", listen: "ssl", certificates.wrongHost.directives + site),
      .init("ours", listen: "ssl", certificates.server.directives + site))
    let rig = try await EngineRig()
    func get(_ site: String, _ change: (inout TLSOptions) -> Void) async -> Outcome {
      var options = TLSOptions()
      options.roots = .file(authority)
      change(&options)
      var spec = TransferSpec(url: nginx.url(https: site))
      spec.trust = TransferTrust(options)
      let outcome = await rig.transfer(spec)
      #expect(outcome.report?.isReusedConnection != true)
      return outcome
    }
    func anybody(_ options: inout TLSOptions) { options.allowsInsecureServers = true }
    for site in ["foreign", "wrong host", "ours"] {
      #expect(await get(site, anybody).text == ". ")
      #expect(await get(site, anybody).text == "r ", "what is to be attacked is there")
    }
    #expect(await get("foreign") { _ in }.error?.certificateDefect == .unknownRoot)
    #expect(await get("foreign") { $0.verifiesHost = false }.error?.certificateDefect == .unknownRoot)
    #expect(await get("wrong host") { _ in }.error?.certificateDefect == .wrongHost)
    #expect(await get("wrong host") { $0.verifiesPeer = false }.error?.certificateDefect == .wrongHost)
    #expect(
      await get("ours") {
        $0.allowsInsecureServers = true
        $0.pinnedPublicKeys = ["AAAA"]
      }.error?.code == .pinnedPublicKeyMismatch)
    #expect(await get("ours") { _ in }.text == ". ", "a handshake of its own")
    #expect(await get("ours") { _ in }.text == "r ")
    #expect(
      await get("ours") { $0.roots = .file(certificates.otherAuthority.certificate) }.error?.certificateDefect
        == .unknownRoot)
    // Nor does a session stand for a certificate that this one does not show.
    func known(_ options: inout TLSOptions) {
      options.clientCertificate = .init(
        format: .pem, certificate: .file(client.certificate), key: .file(client.key))
    }
    #expect(await get("ours", known).text == ". CN=weir test client")
    #expect(await get("ours", known).text == "r CN=weir test client")
    #expect(await get("ours") { _ in }.text.hasSuffix(" "))
    await rig.close()
  }

  /// What the path leads to is what counts for new connections, soon; libcurl would keep the old one for a day.
  @Test(.timeLimit(.minutes(5))) func replacedAuthority() async throws {
    let certificates = try await TestCertificates()
    // Without sessions to be resumed, which would need no authority.
    let site = "ssl_session_tickets off; ssl_session_cache none; keepalive_timeout 0; location / { return 200 fine; }"
    let nginx = try await NginxServer(
      .init("ours", listen: "ssl", certificates.server.directives + site),
      .init("theirs", listen: "ssl", certificates.foreign.directives + site))
    let path = "\(certificates.path)/replaced.pem"
    func put(_ authority: TestCertificates.Pair) throws {
      try Data(contentsOf: URL(fileURLWithPath: authority.certificate)).write(
        to: URL(fileURLWithPath: path), options: .atomic)
    }
    try put(certificates.authority)
    let rig = try await EngineRig { $0.tls.roots = .file(path) }
    #expect(await rig.get(nginx.url(https: "ours")).text == "fine")
    #expect(await rig.get(nginx.url(https: "theirs")).error?.certificateDefect == .unknownRoot)
    try put(certificates.otherAuthority)
    #expect(await eventually { await rig.get(nginx.url(https: "theirs")).text == "fine" })
    #expect(await rig.get(nginx.url(https: "ours")).error?.certificateDefect == .unknownRoot)
    await rig.close()
  }

  /// A name for the server that the URL doesn't have: what is asked for, what the certificate must have, and a connection of
  /// its own.
  @Test(.timeLimit(.minutes(5))) func serverNames() async throws {
    let certificates = try await TestCertificates()
    let nginx = try await NginxServer(
      .init(
        "tls", listen: "ssl",
        certificates.wrongHost.directives + "location / { return 200 \"$ssl_server_name $http_host $request_uri\"; }"))
    let rig = try await EngineRig {
      $0.httpVersion = .http1_1
      $0.tls.roots = .file(certificates.authority.certificate)
    }
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
