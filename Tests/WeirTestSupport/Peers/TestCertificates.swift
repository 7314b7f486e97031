import Foundation

/// Certificates of an authority of our own, made by the openssl program.
package final class TestCertificates: Sendable {
  /// Paths of PEM files.
  package struct Pair: Sendable {
    package let certificate: String
    package let key: String

    /// For an nginx `server` block.
    package var directives: String { "ssl_certificate \(certificate); ssl_certificate_key \(key);" }
  }

  private let directory: TemporaryDirectory
  private let maker: CertificateMaker
  package let authority: Pair
  /// An authority that has issued nothing.
  package let otherAuthority: Pair
  /// For 127.0.0.1 and localhost.
  package let server: Pair
  package let wrongHost: Pair
  package let expired: Pair
  package let client: Pair
  /// For 127.0.0.1 and localhost as well, by the other authority, by itself, and from 2096 on.
  package let foreign: Pair
  package let selfSigned: Pair
  package let future: Pair

  /// Where they lie, each as NAME.pem and NAME.key.
  package var path: String { directory.path }

  package init() async throws {
    directory = try TemporaryDirectory()
    maker = CertificateMaker(directory: directory.path)
    authority = try await maker.authority("authority")
    otherAuthority = try await maker.authority("other-authority")
    let loopback = "subjectAltName=IP:127.0.0.1,DNS:localhost"
    server = try await maker.issue("server", by: authority, extensions: loopback)
    wrongHost = try await maker.issue("wrong-host", by: authority, extensions: "subjectAltName=DNS:weir.example")
    expired = try await maker.issue("expired", by: authority, extensions: loopback, days: -1)
    client = try await maker.issue("client", by: authority, extensions: "extendedKeyUsage=clientAuth")
    foreign = try await maker.issue("foreign", by: otherAuthority, extensions: loopback)
    selfSigned = try await maker.authority("self-signed", extensions: [loopback])
    future = try await maker.issueForTheFuture("future", by: authority, extensions: loopback)
  }

  /// Another certificate, named `weir test NAME`.
  ///
  /// - Parameters:
  ///   - alternatives: The value of subjectAltName, such as `DNS:a.example`.
  ///   - authority: Its issuer; nil for the first authority.
  package func issue(
    _ name: String, for alternatives: String, by authority: Pair? = nil, isRSA: Bool = false, days: Int = 2
  ) async throws -> Pair {
    try await maker.issue(
      name, by: authority ?? self.authority, extensions: "subjectAltName=\(alternatives)", isRSA: isRSA, days: days)
  }

  /// The base64 SHA-256 of a certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4).
  package static func pin(of pair: Pair) async throws -> String {
    let digest = "\(pair.certificate).sha256"
    try await Tool.openssl.run(["pkey", "-in", pair.key, "-pubout", "-outform", "DER", "-out", "\(pair.key).der"])
    try await Tool.openssl.run(["dgst", "-sha256", "-binary", "-out", digest, "\(pair.key).der"])
    return try Data(contentsOf: URL(fileURLWithPath: digest)).base64EncodedString()
  }
}

private struct CertificateMaker {
  let directory: String

  func authority(_ name: String, extensions: [String] = []) async throws -> TestCertificates.Pair {
    let pair = pair(name)
    try await Tool.openssl.run(
      [
        "req", "-x509", "-subj", "/CN=weir test \(name)", "-out", pair.certificate, "-addext",
        "basicConstraints=critical,CA:TRUE",
      ] + extensions.flatMap { ["-addext", $0] } + newKey(pair.key))
    return pair
  }

  /// Not yet valid. Only `openssl ca`, which wants files of its own, lets one choose when that begins.
  func issueForTheFuture(
    _ name: String, by authority: TestCertificates.Pair, extensions: String
  ) async throws -> TestCertificates.Pair {
    let (pair, request, base) = (pair(name), "\(directory)/\(name).csr", "\(directory)/\(name)")
    let settings = """
      [ca]
      default_ca = it
      [it]
      database = \(base).index
      rand_serial = yes
      new_certs_dir = \(directory)
      default_md = sha256
      policy = any
      x509_extensions = extensions
      [any]
      commonName = supplied
      [extensions]
      \(extensions)

      """
    try Data(settings.utf8).write(to: URL(fileURLWithPath: "\(base).cnf"))
    try Data().write(to: URL(fileURLWithPath: "\(base).index"))
    try await Tool.openssl.run(["req", "-new", "-subj", "/CN=weir test \(name)", "-out", request] + newKey(pair.key))
    try await Tool.openssl.run([
      "ca", "-batch", "-notext", "-config", "\(base).cnf", "-in", request, "-out", pair.certificate, "-cert",
      authority.certificate, "-keyfile", authority.key, "-startdate", "20960101000000Z", "-enddate", "20980101000000Z",
    ])
    return pair
  }

  func issue(
    _ name: String, by authority: TestCertificates.Pair, extensions: String, isRSA: Bool = false, days: Int = 2
  ) async throws -> TestCertificates.Pair {
    let (pair, request, extensionFile) = (pair(name), "\(directory)/\(name).csr", "\(directory)/\(name).ext")
    try Data(extensions.utf8).write(to: URL(fileURLWithPath: extensionFile))
    let key = isRSA ? ["-newkey", "rsa:2048", "-noenc", "-keyout", pair.key] : newKey(pair.key)
    try await Tool.openssl.run(["req", "-new", "-subj", "/CN=weir test \(name)", "-out", request] + key)
    try await Tool.openssl.run(
      [
        "x509", "-req", "-in", request, "-CA", authority.certificate, "-CAkey", authority.key, "-CAcreateserial",
        "-extfile", extensionFile, "-days", "\(days)", "-out", pair.certificate,
      ])
    return pair
  }

  private func pair(_ name: String) -> TestCertificates.Pair {
    TestCertificates.Pair(certificate: "\(directory)/\(name).pem", key: "\(directory)/\(name).key")
  }

  private func newKey(_ path: String) -> [String] {
    ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc", "-keyout", path]
  }
}
