import Testing
import Weir
import WeirTestSupport

@Suite(.needs(.nginx, .openssl)) struct TLSTests {
  @Test(arguments: ["127.0.0.1", "localhost"])
  func aCertificateOfOurAuthorityIsAccepted(host: String) async throws {
    let fixture = try await TLSFixture.shared.value
    let response = await (try fixture.session()).get(fixture.nginx.url(https: "valid", host: host))
    #expect(response.value == Data("TLSv1.3".utf8), "\(response)")
    let metrics = try #require(response.metrics)
    #expect(try #require(metrics.tls) > 0)
    #expect(try #require(metrics.connect) > 0)
    #expect(metrics.remotePort == fixture.nginx.port("valid"))
  }

  @Test func anAuthorityMayBeGivenInMemory() async throws {
    let fixture = try await TLSFixture.shared.value
    let authority = try Data(contentsOf: URL(fileURLWithPath: fixture.certificates.authority.certificate))
    let client = try fixture.session { $0.tls.trustRoots = .pem(authority) }
    #expect(await client.get(fixture.nginx.url(https: "valid")).statusCode == 200)
  }

  enum Roots: CaseIterable {
    case ours, others, system, none
  }

  @Test(arguments: [
    (Roots.others, "valid", URLError.serverCertificateHasUnknownRoot),
    (.system, "valid", .serverCertificateHasUnknownRoot),
    (.none, "valid", .serverCertificateHasUnknownRoot),
    (.ours, "wrong host", .serverCertificateUntrusted),
    (.ours, "expired", .serverCertificateHasBadDate),
    (.ours, "plain", .secureConnectionFailed),
    (.ours, "1.1", .secureConnectionFailed),
  ])
  func aServerThatIsNotTrustedIsRefused(roots: Roots, site: String, expected: URLError.Code) async throws {
    let fixture = try await TLSFixture.shared.value
    let client = try fixture.session {
      switch roots {
      case .ours: break
      case .others: $0.tls.trustRoots = .file(fixture.certificates.otherAuthority.certificate)
      case .system: $0.tls.trustRoots = .system
      case .none: $0.tls.trustRoots = .file("/nonexistent/roots.pem")
      }
    }
    let response = await client.get(fixture.nginx.url(https: site))
    #expect(response.urlErrorCode == expected, "\(response)")
    #expect(client.sum("weir_requests_total", ["outcome": "tls_error"]) == 1)
    #expect(client.sum("weir_requests_total") == 1)
    #expect(client.sum("http_client_open_connections") == 0)
  }

  @Test(arguments: ["valid", "wrong host", "expired"])
  func aSessionMayTrustAnybody(site: String) async throws {
    let fixture = try await TLSFixture.shared.value
    let client = try MeasuredSession { $0.tls.allowsInsecureServers = true }
    #expect(await client.get(fixture.nginx.url(https: site)).statusCode == 200)
  }

  @Test(arguments: [false, true])
  func aRedirectToPlainHTTPIsFollowedWhereThatIsAllowed(isAllowed: Bool) async throws {
    let fixture = try await TLSFixture.shared.value
    let client = try fixture.session { $0.allowsInsecureRedirects = isAllowed }
    let request = client.session.request(
      fixture.nginx.url(https: "valid", "/to?url=\(fixture.nginx.url(on: "plain"))"))
    let response = await request.serializingData(emptyResponseCodes: [200]).response
    #expect(response.urlErrorCode == (isAllowed ? nil : .appTransportSecurityRequiresSecureConnection))
    #expect(response.metrics?.redirectCount == (isAllowed ? 1 : 0))
    #expect(request.task?.currentRequest?.url?.scheme == (isAllowed ? "http" : "https"))
  }

  // MARK: Versions

  @Test(arguments: [
    (TLSConfiguration.Version.tls12, "1.2", "TLSv1.2" as String?),
    (.tls12, "1.3", "TLSv1.3"),
    (.tls13, "1.3", "TLSv1.3"),
    (.tls13, "1.2", nil),
  ])
  func theMinimumVersionHolds(minimum: TLSConfiguration.Version, site: String, agreed: String?) async throws {
    let fixture = try await TLSFixture.shared.value
    let client = try fixture.session { $0.tls.minimumVersion = minimum }
    let response = await client.get(fixture.nginx.url(https: site))
    if let agreed {
      #expect(response.value == Data(agreed.utf8), "\(response)")
    } else {
      #expect(response.urlErrorCode == .secureConnectionFailed, "\(response)")
    }
  }

  // MARK: Pins

  @Test func aPinnedKeyMustMatch() async throws {
    let fixture = try await TLSFixture.shared.value
    let (ours, theirs) = (
      TLSConfiguration.PublicKeyPin(sha256: try await TestCertificates.pin(of: fixture.certificates.server)),
      TLSConfiguration.PublicKeyPin(sha256: try await TestCertificates.pin(of: fixture.certificates.client))
    )
    let url = fixture.nginx.url(https: "valid")
    for pins in [[ours], [theirs, ours]] {
      #expect(await (try fixture.session { $0.tls.pinnedPublicKeys = pins }).get(url).statusCode == 200)
    }
    let client = try fixture.session { $0.tls.pinnedPublicKeys = [theirs] }
    let response = await client.get(url)
    #expect(response.urlErrorCode == .serverCertificateUntrusted, "\(response)")
    #expect(client.sum("weir_requests_total", ["outcome": "tls_error"]) == 1)
  }

  @Test func aPinHoldsForAServerThatNeedNotBeTrusted() async throws {
    let fixture = try await TLSFixture.shared.value
    let pin = TLSConfiguration.PublicKeyPin(sha256: try await TestCertificates.pin(of: fixture.certificates.client))
    let client = try MeasuredSession {
      $0.tls.allowsInsecureServers = true
      $0.tls.pinnedPublicKeys = [pin]
    }
    #expect(await client.get(fixture.nginx.url(https: "valid")).urlErrorCode == .serverCertificateUntrusted)
  }

  // MARK: Client certificates

  @Test func aClientShowsItsCertificate() async throws {
    let fixture = try await TLSFixture.shared.value
    let pair = fixture.certificates.client
    let bundle = pair.certificate + ".p12"
    try await Tool.openssl.run([
      "pkcs12", "-export", "-in", pair.certificate, "-inkey", pair.key, "-out", bundle, "-passout", "pass:s3cret",
    ])
    let (certificate, key) = (
      try Data(contentsOf: URL(fileURLWithPath: pair.certificate)), try Data(contentsOf: URL(fileURLWithPath: pair.key))
    )
    let forms: [TLSConfiguration.ClientCertificate] = [
      .init(certificate: .file(pair.certificate), privateKey: .file(pair.key)),
      .init(certificate: .data(certificate), privateKey: .data(key)),
      .init(certificate: .data(certificate + key)),
      .init(certificate: .file(bundle), format: .pkcs12, passphrase: "s3cret"),
      .init(
        certificate: .data(try Data(contentsOf: URL(fileURLWithPath: bundle))), format: .pkcs12, passphrase: "s3cret"),
    ]
    for form in forms {
      let response = await (try fixture.session { $0.tls.clientCertificate = form })
        .get(fixture.nginx.url(https: "client"))
      #expect(response.value == Data("CN=weir test client".utf8), "\(form): \(response)")
    }
  }

  @Test func withoutACertificateTheServerSaysNo() async throws {
    let fixture = try await TLSFixture.shared.value
    // nginx ends the handshake and explains itself in HTTP.
    #expect(await (try fixture.session()).get(fixture.nginx.url(https: "client")).statusCode == 400)
  }

  @Test func aCertificateThatCannotBeReadIsRejected() async throws {
    let fixture = try await TLSFixture.shared.value
    let client = try fixture.session { $0.tls.clientCertificate = .init(certificate: .file("/nonexistent/client.pem")) }
    let response = await client.get(fixture.nginx.url(https: "client"))
    #expect(response.urlErrorCode == .clientCertificateRejected, "\(response)")
  }
}
