import Foundation
import Synchronization
import Testing
import WeirExporter
import WeirExporterTLS
import WeirTestSupport

/// An exporter of a service that speaks TLS, scraped by curl.
@Suite(
  .timeLimit(.minutes(5)),
  .disabled(if: !Tool.curl.isInstalled || !Tool.openssl.isInstalled, "curl and openssl are not installed"))
struct ExporterTLSTests {
  private static let certificates = Task { try await TestCertificates() }

  private let certificates: TestCertificates
  private let directory: TemporaryDirectory
  private let problems = Problems()

  private final class Problems: Sendable {
    private let texts = Mutex<[String]>([])
    var all: [String] { texts.withLock { $0 } }
    func note(_ text: String) { texts.withLock { $0.append(text) } }
  }

  init() async throws {
    certificates = try await Self.certificates.value
    directory = try TemporaryDirectory()
    try install(certificates.server)
  }

  private var certificate: String { "\(directory.path)/it.pem" }
  private var key: String { "\(directory.path)/it.key" }

  /// Each file is replaced by another, as tools that renew certificates do.
  private func install(_ pair: TestCertificates.Pair) throws {
    for (from, to) in [(pair.certificate, certificate), (pair.key, key)] {
      try String(contentsOfFile: from, encoding: .utf8).write(toFile: to, atomically: true, encoding: .utf8)
    }
  }

  private func start(clientCA: String? = nil) throws -> Exporter {
    var options = Exporter.Options()
    try options.useTLS(
      certificate: certificate, key: key, clientCA: clientCA, onProblem: { [problems] in problems.note($0) })
    return try Exporter(listenAddress: "127.0.0.1:0", options: options).start()
  }

  /// The page, or the words with which curl gives up.
  private func scrape(
    _ exporter: Exporter, as client: TestCertificates.Pair? = nil, trusting authority: TestCertificates.Pair? = nil
  ) async throws -> String {
    let own = client.map { ["--cert", $0.certificate, "--key", $0.key] } ?? []
    let trusted = authority ?? certificates.authority
    let arguments = ["-sS", "--max-time", "10", "--noproxy", "*", "--cacert", trusted.certificate] + own
    return try await Tool.curl.runToEnd(arguments + ["https://\(try #require(exporter.address))/metrics"]).output
  }

  @Test func aScrapeByTLS() async throws {
    let exporter = try start()
    defer { exporter.stop(grace: 0) }
    #expect(try await scrape(exporter).contains("weir_build_info{"))
    let plain = try await Tool.curl.runToEnd([
      "-sS", "--max-time", "10", "--noproxy", "*", "http://\(try #require(exporter.address))/metrics",
    ]).output
    #expect(!plain.contains("weir_build_info{"))
  }

  @Test func aClientNeedsACertificateOfTheAuthority() async throws {
    let exporter = try start(clientCA: certificates.authority.certificate)
    defer { exporter.stop(grace: 0) }
    #expect(try await scrape(exporter, as: certificates.client).contains("weir_build_info{"))
    for stranger in [nil, certificates.foreign] {
      #expect(try await !scrape(exporter, as: stranger).contains("weir_build_info{"))
    }
  }

  @Test(.slow) func aReplacedCertificateIsServedWithoutARestart() async throws {
    let exporter = try start()
    defer { exporter.stop(grace: 0) }
    #expect(try await scrape(exporter).contains("weir_build_info{"))
    // The certificate without its key comes first, so that there is a problem to hear of.
    try String(contentsOfFile: certificates.foreign.certificate, encoding: .utf8)
      .write(toFile: certificate, atomically: true, encoding: .utf8)
    try await eventually("the problem is told") { problems.all.count == 1 }
    #expect(problems.all.first?.hasPrefix("\"\(key)\": the key does not belong to the certificate") == true)
    #expect(try await scrape(exporter).contains("weir_build_info{"))
    try install(certificates.foreign)
    try await eventually("the new certificate is served") {
      try await scrape(exporter, trusting: certificates.otherAuthority).contains("weir_build_info{")
    }
    #expect(problems.all.count == 1)
  }

  @Test func filesThatMakeNoTLS() throws {
    var options = Exporter.Options()
    let error = #expect(throws: ExporterError.self) {
      try options.useTLS(certificate: certificate, key: "\(directory.path)/none") { _ in }
    }
    #expect(error?.code == .invalidTLS)
    #expect(
      error?.description == "TLS: \"\(directory.path)/none\" can't be read: No such file or directory")
  }
}
