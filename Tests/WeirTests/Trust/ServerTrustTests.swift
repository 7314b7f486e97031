import Foundation
import FoundationNetworking
import Synchronization
import Testing
import WeirCurl
import WeirTestSupport

@testable import Weir

/// An nginx with a site per certificate.
struct TrustFixture {
  let certificates: TestCertificates
  let nginx: NginxServer
  /// Of the server of "valid".
  let pin: TLSConfiguration.PublicKeyPin
  let otherPin: TLSConfiguration.PublicKeyPin

  static let shared = Task { try await TrustFixture() }

  init() async throws {
    let certificates = try await TestCertificates()
    self.certificates = certificates
    let answer = "location / { return 200 $ssl_protocol; }"
    let valid = certificates.server.directives
    nginx = try await NginxServer(
      .init("valid", listen: "ssl", valid + answer),
      .init("wrong host", listen: "ssl", certificates.wrongHost.directives + answer),
      .init("expired", listen: "ssl", certificates.expired.directives + answer),
      .init("future", listen: "ssl", certificates.future.directives + answer),
      .init("self-signed", listen: "ssl", certificates.selfSigned.directives + answer),
      .init("foreign", listen: "ssl", certificates.foreign.directives + answer),
      .init("once", listen: "ssl", valid + "keepalive_timeout 0;" + answer),
      .init("moved", listen: "ssl", valid + "location / { return 302 https://127.0.0.1:$server_port/there; }"),
      .init(
        "client", listen: "ssl",
        valid + "ssl_client_certificate \(certificates.authority.certificate); ssl_verify_client on;"
          + "location / { return 200 $ssl_client_s_dn; }"))
    pin = try TLSConfiguration.PublicKeyPin(
      pem: String(contentsOfFile: certificates.server.certificate, encoding: .utf8))
    otherPin = try TLSConfiguration.PublicKeyPin(
      pem: String(contentsOfFile: certificates.client.certificate, encoding: .utf8))
  }

  var roots: TLSConfiguration.TrustRoots { .file(certificates.authority.certificate) }
  var otherRoots: TLSConfiguration.TrustRoots { .file(certificates.otherAuthority.certificate) }

  func url(_ site: String, host: String = "127.0.0.1") -> String { nginx.url(https: site, host: host) }

  /// A session that trusts our authority.
  func session(
    _ manager: ServerTrustManager? = nil, interceptor: (any RequestInterceptor)? = nil,
    monitors: [any EventMonitor] = [], _ configure: (inout SessionConfiguration) -> Void = { _ in }
  ) -> Session {
    var configuration = SessionConfiguration()
    configuration.timeoutIntervalForResource = 30
    configuration.tls.trustRoots = roots
    // With `.automatic` the connection on which a newer libcurl asks for HTTP/2 in vain is not used again.
    configuration.httpVersion = .http1_1
    configure(&configuration)
    return Session(
      configuration: configuration, interceptor: interceptor, serverTrustManager: manager, eventMonitors: monitors)
  }

  /// One in which only this evaluator speaks for 127.0.0.1.
  func session(evaluatedBy evaluator: any ServerTrustEvaluating) -> Session {
    session(ServerTrustManager(evaluators: ["127.0.0.1": evaluator]))
  }
}

/// Answers as a closure says.
private struct ClosureEvaluator: ServerTrustEvaluating {
  let answer: @Sendable (String) throws -> TrustRequirement

  func requirement(forHost host: String) throws -> TrustRequirement { try answer(host) }
}

@Suite("§23 Server trust", .enabled(if: Tool.nginx.isInstalled && Tool.openssl.isInstalled), .timeLimit(.minutes(5)))
struct ServerTrustTests {
  // MARK: Without an evaluator

  @Test(
    "Each defect of a certificate has its own error",
    arguments: [
      ("expired", URLError.Code.serverCertificateHasBadDate), ("future", .serverCertificateNotYetValid),
      ("self-signed", .serverCertificateHasUnknownRoot), ("foreign", .serverCertificateHasUnknownRoot),
      ("wrong host", .serverCertificateUntrusted),
    ])
  func defects(site: String, code: URLError.Code) async throws {
    let fixture = try await TrustFixture.shared.value
    let session = fixture.session()
    let response = await session.request(fixture.url(site)).plainResponse()
    guard case .sessionTaskFailed(let error)? = response.error else {
      return #expect(Bool(false), "\(response)")
    }
    #expect((error as? URLError)?.code == code)
  }

  // MARK: With one

  @Test("An evaluator that is satisfied lets the request through")
  func satisfied() async throws {
    let fixture = try await TrustFixture.shared.value
    let pem = try Data(contentsOf: URL(fileURLWithPath: fixture.certificates.authority.certificate))
    let evaluators: [any ServerTrustEvaluating] = [
      DefaultTrustEvaluator(), .customCA(fixture.roots), .customCA(.pem(pem)),
      .publicKeys(keys: [fixture.otherPin, fixture.pin]),
      .composite(evaluators: [.publicKeys(keys: [fixture.pin]), .customCA(fixture.roots)]),
      .composite(evaluators: [DefaultTrustEvaluator(), .publicKeys(keys: [fixture.pin])]),
    ]
    for evaluator in evaluators {
      let session = fixture.session(evaluatedBy: evaluator)
      let response = await session.request(fixture.url("valid")).plainResponse()
      #expect(response.response?.statusCode == 200, "\(evaluator): \(response)")
    }
    // What isn't demanded isn't looked at.
    let lax: [(String, any ServerTrustEvaluating)] = [
      ("wrong host", DefaultTrustEvaluator(validateHost: false)),
      ("wrong host", CustomCATrustEvaluator(fixture.roots, validateHost: false)),
      ("expired", .publicKeys(keys: [try pin(of: fixture.certificates.expired)], performDefaultValidation: false)),
      (
        "self-signed",
        .publicKeys(keys: [try pin(of: fixture.certificates.selfSigned)], performDefaultValidation: false)
      ),
      ("foreign", .customCA(fixture.otherRoots)),
    ]
    for (site, evaluator) in lax {
      let session = fixture.session(evaluatedBy: evaluator)
      let response = await session.request(fixture.url(site)).plainResponse()
      #expect(response.response?.statusCode == 200, "\(site), \(evaluator): \(response)")
    }
  }

  private func pin(of pair: TestCertificates.Pair) throws -> TLSConfiguration.PublicKeyPin {
    try TLSConfiguration.PublicKeyPin(pem: String(contentsOfFile: pair.certificate, encoding: .utf8))
  }

  enum Demand: CaseIterable { case session, otherAuthority, pin, missingFile, emptyFile, pinWithoutChain }

  @Test(
    "Each failure has its own reason, and comes before the task's completion and to the retriers",
    arguments: [
      ("expired", Demand.session, "default_evaluation_failed"), ("future", .session, "default_evaluation_failed"),
      ("self-signed", .session, "default_evaluation_failed"), ("foreign", .session, "default_evaluation_failed"),
      ("wrong host", .session, "host_validation_failed"), ("wrong host", .pin, "host_validation_failed"),
      // The authority was replaced by another one.
      ("valid", .otherAuthority, "default_evaluation_failed"),
      ("valid", .pin, "public_key_pinning_failed"), ("valid", .pinWithoutChain, "public_key_pinning_failed"),
      ("valid", .missingFile, "certificate_authority_invalid"), ("valid", .emptyFile, "certificate_authority_invalid"),
    ])
  func failures(site: String, demand: Demand, label: String) async throws {
    let fixture = try await TrustFixture.shared.value
    let directory = try TemporaryDirectory()
    let evaluator: any ServerTrustEvaluating =
      switch demand {
      case .session: DefaultTrustEvaluator()
      case .otherAuthority: .customCA(fixture.otherRoots)
      case .pin: .publicKeys(keys: [fixture.otherPin])
      case .pinWithoutChain: .publicKeys(keys: [fixture.otherPin], performDefaultValidation: false)
      case .missingFile: .customCA(.file("/nonexistent/roots.pem"))
      case .emptyFile: .customCA(.file(try directory.file("roots.pem", "")))
      }
    let asked = Journal<String>()
    let retrier = Retrier { request, _, error, completion in
      asked.append("\(error.asWeirError?.label ?? "") \(request.error?.label ?? "")")
      completion(.doNotRetry)
    }
    let recorder = EventRecorder()
    let early = Journal<WeirError>()
    let monitor = ClosureEventMonitor()
    monitor.requestDidFailTaskEarlyWithError = { _, _, error in early.append(error) }
    let session = fixture.session(
      ServerTrustManager(evaluators: ["127.0.0.1": evaluator]), interceptor: retrier, monitors: [recorder, monitor])
    let request = session.request(fixture.url(site))
    let response = await request.plainResponse()
    let error = try #require(response.error)
    #expect(error.isServerTrustEvaluationError)
    #expect(error.label == label, "\(error)")
    #expect(request.outcome == .tlsError)
    #expect(asked.entries == ["\(label) \(label)"])
    let events = recorder.events.entries
    let failed = try #require(events.firstIndex { $0 == "failTask" }, "\(events)")
    let completed = try #require(events.firstIndex { $0.hasPrefix("completeTask") })
    #expect(failed < completed)
    await early.wait { !$0.isEmpty }
    #expect(early.entries.map(\.label) == [label])
    #expect(recorder.violations.entries == [])
  }

  // MARK: Before anything is connected

  enum Refusal: String, CaseIterable { case noEvaluator, noKeys, disabled, custom, own, conflict, noCertificates }

  @Test("What can't be evaluated is not connected to", arguments: Refusal.allCases)
  func refused(refusal: Refusal) async throws {
    struct Own: Error {}
    let roots = TLSConfiguration.TrustRoots.file("/nonexistent")
    let (evaluator, label): ((any ServerTrustEvaluating)?, String) =
      switch refusal {
      case .noEvaluator: (nil, "no_required_evaluator")
      case .noKeys: (.publicKeys(keys: []), "no_public_keys_found")
      case .disabled: (DisabledTrustEvaluator(), "insecure_evaluator_not_allowed")
      case .custom: (ClosureEvaluator { _ in throw Own() }, "custom_evaluation_failed")
      case .own: (ClosureEvaluator { _ in throw WeirError.explicitlyCancelled }, WeirError.explicitlyCancelled.label)
      case .conflict:
        (.composite(evaluators: [DefaultTrustEvaluator(), .customCA(roots)]), "certificate_authority_invalid")
      case .noCertificates: (.customCA(.pem(Data("nothing".utf8))), "no_certificates_found")
      }
    let server = try ScriptedServer(.answering(okResponse("no")))
    let recorder = EventRecorder()
    let asked = Journal<String>()
    let session = Session(
      interceptor: Retrier { _, _, error, completion in
        asked.append(error.asWeirError?.label ?? "")
        completion(.doNotRetry)
      },
      serverTrustManager: ServerTrustManager(evaluators: evaluator.map { ["127.0.0.1": $0] } ?? [:]),
      eventMonitors: [recorder])
    let request = session.request("https://127.0.0.1:\(server.port)/")
    let response = await request.plainResponse()
    #expect(response.error?.label == label, "\(response)")
    #expect(asked.entries == [label])
    #expect(server.connectionCount == 0)
    #expect(request.attemptCount == 0)
    #expect(recorder.events.entries.contains { $0 == "failTask" })
    // Without TLS there is nothing to evaluate.
    #expect(await session.request(server.url).plainResponse().error == nil)
  }

  @Test("Disabled evaluation needs the session's permission, and holds for its host alone")
  func disabled() async throws {
    let fixture = try await TrustFixture.shared.value
    let manager = ServerTrustManager(
      evaluators: ["127.0.0.1": DisabledTrustEvaluator(), "localhost": DefaultTrustEvaluator()])
    let session = fixture.session(manager) { $0.tls.allowsInsecureServers = true }
    for site in ["expired", "wrong host", "self-signed", "foreign"] {
      #expect(await session.request(fixture.url(site)).plainResponse().error == nil)
    }
    let response = await session.request(fixture.url("expired", host: "localhost")).plainResponse()
    #expect(response.error?.label == "default_evaluation_failed")
  }

  @Test("Another spelling of a host is no other host", arguments: ["LOCALHOST", "%6cocalhost"])
  func spellings(host: String) async throws {
    let fixture = try await TrustFixture.shared.value
    let session = fixture.session(
      ServerTrustManager(
        allHostsMustBeEvaluated: false, evaluators: ["localhost": .publicKeys(keys: [fixture.otherPin])]))
    let response = await session.request(fixture.url("valid", host: host)).plainResponse()
    #expect(response.error?.label == "public_key_pinning_failed", "\(response)")
  }

  @Test("A host without an evaluator is left to the session's settings where that is allowed")
  func unevaluated() async throws {
    let fixture = try await TrustFixture.shared.value
    let session = fixture.session(ServerTrustManager(allHostsMustBeEvaluated: false, evaluators: [:]))
    #expect(await session.request(fixture.url("valid")).plainResponse().error == nil)
    #expect(await session.request(fixture.url("foreign")).plainResponse().error?.isSessionTaskError == true)
  }

  // MARK: Redirects

  @Test("The host that a redirect leads to has a requirement of its own")
  func redirects() async throws {
    let fixture = try await TrustFixture.shared.value
    let cases: [(any ServerTrustEvaluating, String)] = [
      (.publicKeys(keys: [fixture.otherPin]), "public_key_pinning_failed"),
      (.customCA(fixture.otherRoots), "default_evaluation_failed"),
    ]
    let url = fixture.url("moved", host: "localhost")
    for (evaluator, label) in cases {
      let session = fixture.session(
        ServerTrustManager(evaluators: ["localhost": DefaultTrustEvaluator(), "127.0.0.1": evaluator]))
      let response = await session.request(url).plainResponse()
      #expect(response.error?.label == label, "\(response)")
    }
    let session = fixture.session(ServerTrustManager(evaluators: ["localhost": DefaultTrustEvaluator()]))
    let response = await session.request(url).plainResponse()
    guard case .serverTrustEvaluationFailed(.noRequiredEvaluator(host: "127.0.0.1"))? = response.error else {
      return #expect(Bool(false), "\(response)")
    }
  }

  // MARK: Connections

  @Test("A connection that one requirement let through serves no other", arguments: ["valid", "once"])
  func connections(site: String) async throws {
    let fixture = try await TrustFixture.shared.value
    let demand = Mutex(TrustRequirement())
    let evaluator = ClosureEvaluator { _ in demand.withLock { $0 } }
    let session = fixture.session(evaluatedBy: evaluator)
    func get(_ change: (inout TrustRequirement) -> Void) async -> WeirDataResponse<Data?> {
      demand.withLock { demand in
        demand = TrustRequirement()
        change(&demand)
      }
      return await session.request(fixture.url(site)).plainResponse()
    }
    #expect(await get { _ in }.error == nil)
    #expect(await get { _ in }.metrics?.isReusedConnection == (site == "valid"))
    let pinned = await get { $0.pinnedPublicKeys = [fixture.pin] }
    #expect(pinned.error == nil && pinned.metrics?.isReusedConnection == false)
    #expect(await get { $0.pinnedPublicKeys = [fixture.otherPin] }.error?.label == "public_key_pinning_failed")
    #expect(await get { $0.roots = [.custom(fixture.otherRoots)] }.error?.label == "default_evaluation_failed")
    let lax = await get { $0.validatesHost = false }
    #expect(lax.error == nil && lax.metrics?.isReusedConnection == false)
    #expect(await get { _ in }.metrics?.isReusedConnection == (site == "valid"))
  }
}
