import Foundation
import Testing
import WeirExporter
import WeirTLS
import WeirTestSupport

@testable import WeirGateway

/// `tls_server_config` of the web configuration.
@Suite(.disabled(if: !Tool.openssl.isInstalled, "openssl is not installed")) struct WebTLSTests {
  static let certificates = Task { try await TestCertificates() }

  private let certificates: TestCertificates

  init() async throws {
    certificates = try await Self.certificates.value
    let directory = certificates.path
    try Data(count: 1 << 20 + 1).write(to: URL(fileURLWithPath: "\(directory)/large.pem"))
    try Data("text\n".utf8).write(to: URL(fileURLWithPath: "\(directory)/text.pem"))
    try Data().write(to: URL(fileURLWithPath: "\(directory)/empty.pem"))
  }

  /// Reads a file that would lie beside the certificates.
  private func read(_ lines: String...) throws(ConfigurationError) -> WebConfiguration {
    let text = (["tls_server_config:"] + lines.map { "  " + $0 }).joined(separator: "\n")
    return try WebConfiguration(parsing: Array(text.utf8), file: "\(certificates.path)/web.yml")
  }

  private static let pair = ["cert_file: server.pem", "key_file: server.key"]

  private func readWithPair(_ line: String) throws(ConfigurationError) -> WebConfiguration {
    try read(Self.pair[0], Self.pair[1], line)
  }

  @Test func theDefaultsAreThoseOfExporterToolkit() throws {
    let web = try read("cert_file: server.pem", "key_file: \(certificates.server.key)")
    let tls = try #require(web.tls)
    #expect(tls.certificates == [.init(certificate: certificates.server.certificate, key: certificates.server.key)])
    #expect(tls.clientCA == nil)
    var rules = TLSSettings(certificates: [])
    rules.prefersServerOrder = true
    #expect(tls.rules == rules)
    #expect(web.isOpenToAll)
    #expect("\(web)".contains("hasTLS: true"))
    #expect(try WebConfiguration(parsing: [], file: "web.yml").tls == nil)
  }

  /// The file that exporter-toolkit shows as an example, beside the two files that it names.
  @Test func readsTheExampleOfExporterToolkit() throws {
    let directory = try TemporaryDirectory()
    for (name, path) in [("server.crt", certificates.server.certificate), ("server.key", certificates.server.key)] {
      try FileManager.default.copyItem(atPath: path, toPath: "\(directory.path)/\(name)")
    }
    let file = try directory.file(
      "web-config.yml",
      """
      # TLS and basic authentication configuration example.
      #
      # Additionally, a certificate and a key file are needed.
      tls_server_config:
        cert_file: server.crt
        key_file: server.key

      # Usernames and passwords required to connect.
      basic_auth_users:
        alice: $2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze
        bob: $2y$10$hLqFl9jSjoAAy95Z/zw8Ye8wkdMBM8c5Bn1ptYqP/AXyV0.oy0S8m

      # Exclude /-/healthy and /-/ready from basic authentication
      basic_auth_excluded_paths:
      - /-/healthy
      - /-/ready

      """)
    let web = try WebConfiguration(file: file)
    #expect(web.users.keys.sorted() == ["alice", "bob"])
    #expect(web.excludedPaths == ["/-/healthy", "/-/ready"])
    #expect(web.access?.excludedPaths == web.excludedPaths)
    #expect(web.tls?.certificates.first?.certificate == "\(directory.path)/server.crt")
    #expect(!web.isOpenToAll && web.notes.isEmpty)
  }

  @Test func readsEveryKey() throws {
    let web = try read(
      "cert_file: server.pem", "key_file: server.key", "client_auth_type: RequireAndVerifyClientCert",
      "client_ca_file: ./authority.pem", "client_allowed_sans: [a.example, 'spiffe://a/b', a.example]",
      "min_version: TLS12", "max_version: TLS12", "prefer_server_cipher_suites: false",
      "cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_AES_128_GCM_SHA256]",
      "curve_preferences: [X25519, CurveP256, CurveP384, CurveP521, X25519]")
    let tls = try #require(web.tls)
    #expect(tls.clientCA == "\(certificates.path)/./authority.pem")
    var rules = TLSSettings(certificates: [])
    rules.maximumVersion = .v1_2
    rules.allowedClientNames = ["a.example", "spiffe://a/b"]
    rules.cipherSuites = [.ecdsaAES256GCM, .aes128GCM]
    rules.groups = [.x25519, .p256, .p384, .p521]
    #expect(tls.rules == rules)
    #expect(!web.isOpenToAll)
  }

  @Test(arguments: [
    ("client_auth_type: NoClientCert", TLSSettings.ClientAuth.required),
    ("client_auth_type: RequestClientCert", .optionalUnverified),
    ("client_auth_type: RequireAnyClientCert", .requiredUnverified),
    ("client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: authority.pem", .optional),
    ("client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: authority.pem", .required),
  ])
  func clientAuthHasFiveWords(line: String, expected: TLSSettings.ClientAuth) throws {
    let web = try readWithPair(line)
    #expect(web.tls?.rules.clientAuth == expected)
    #expect(web.isOpenToAll != line.contains("RequireAndVerify"))
  }

  @Test(arguments: TLSCipherSuite.allCases) func suitesHaveTheirNamesAtIANA(suite: TLSCipherSuite) throws {
    #expect(try readWithPair("cipher_suites: [\(suite.rawValue)]").tls?.rules.cipherSuites == [suite])
  }

  /// These stand for the defaults, as in exporter-toolkit.
  @Test(arguments: ["cipher_suites:", "cipher_suites: []", "curve_preferences:", "curve_preferences: []"])
  func emptyListsAreDefaults(line: String) throws {
    let rules = try #require(try readWithPair(line).tls?.rules)
    #expect(rules.cipherSuites.isEmpty && rules.groups.isEmpty)
  }

  /// Paths begin in the folder of the file, however that is named.
  @Test func pathsBeginInTheFolder() throws {
    let text = Array("tls_server_config: {cert_file: a.pem, key_file: /nowhere/a.key}".utf8)
    for (file, path) in [
      ("web.yml", "a.pem"), ("./web.yml", "./a.pem"), ("x/y/web.yml", "x/y/a.pem"), ("/web.yml", "/a.pem"),
    ] {
      let error = try #require(throws: ConfigurationError.self) { _ = try WebConfiguration(parsing: text, file: file) }
      #expect(
        error.lines == [
          "\(file):1:32: tls_server_config.cert_file: \"\(path)\" can't be read: No such file or directory",
          "\(file):1:49: tls_server_config.key_file: \"/nowhere/a.key\" can't be read: No such file or directory",
        ])
    }
  }

  private static let verify = "write client_auth_type: RequireAndVerifyClientCert"
  private static let words =
    "give one of NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven, "
    + "RequireAndVerifyClientCert"

  @Test(arguments: [
    (
      "client_ca_file: authority.pem",
      "client_ca_file: is of no use with NoClientCert, which verifies no certificate; \(verify)"
    ),
    ("client_auth_type: RequireClientCert", "client_auth_type: \(words)"),
    ("client_auth_type: 5", "client_auth_type: expected a string, found a number; write it in quotes"),
    (
      "client_auth_type: RequireAndVerifyClientCert",
      "client_auth_type: needs client_ca_file, with the authorities whose clients are let in"
    ),
    (
      "client_auth_type: VerifyClientCertIfGiven",
      "client_auth_type: needs client_ca_file, with the authorities whose clients are let in"
    ),
    ("client_allowed_sans: [a]", "client_allowed_sans: with NoClientCert clients need no certificate; \(verify)"),
    ("client_allowed_sans: a", "client_allowed_sans: expected a list (- item), found a string"),
    ("min_version: TLS11", "min_version: TLS11 is not safe any more; give TLS12 or TLS13"),
    ("max_version: TLS10", "max_version: TLS10 is not safe any more; give TLS12 or TLS13"),
    ("min_version: '1.2'", "min_version: give TLS12 or TLS13"),
    ("min_version: 1.2", "min_version: expected a string, found a number; write it in quotes"),
    (
      "cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA255]",
      "cipher_suites[0]: \"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA255\" is not a cipher suite's IANA name; did you mean "
        + "\"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\"?"
    ),
    (
      "cipher_suites: [TLS_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_128_CBC_SHA]",
      "cipher_suites[1]: \"TLS_RSA_WITH_AES_128_CBC_SHA\" is not a cipher suite's IANA name; did you mean "
        + "\"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA\"?"
    ),
    (
      "cipher_suites: [RC4]",
      "cipher_suites[0]: \"RC4\" is not a cipher suite's IANA name; known are "
        + TLSCipherSuite.allCases.map(\.rawValue).joined(separator: ", ")
    ),
    ("cipher_suites: TLS_AES_128_GCM_SHA256", "cipher_suites: expected a list (- item), found a string"),
    (
      "curve_preferences: [curveP256]",
      "curve_preferences[0]: \"curveP256\" is not a curve; did you mean \"CurveP256\"?"
    ),
    (
      "curve_preferences: [secp256k1]",
      "curve_preferences[0]: \"secp256k1\" is not a curve; known are CurveP256, CurveP384, CurveP521, X25519, "
        + "X25519MLKEM768"
    ),
    ("prefer_server_cipher_suites: yes", "prefer_server_cipher_suites: expected true or false, found a string"),
    ("cert: abc", "cert: is not supported; write the PEM to a file and name it in cert_file"),
    ("key: s3cret", "key: is not supported; write the PEM to a file and name it in key_file"),
    ("client_ca: abc", "client_ca: is not supported; write the PEM to a file and name it in client_ca_file"),
    ("cert_fil: a", "cert_fil: unknown key; known keys are"),
    ("min_versio: TLS12", "min_versio: unknown key; did you mean \"min_version\"?"),
  ])
  func saysWhatIsWrong(line: String, expected: String) throws {
    let error = try #require(throws: ConfigurationError.self) { _ = try readWithPair(line) }
    #expect(error.problems.count == 1, "\(error)")
    #expect(error.problems.first?.position?.line == 4)
    #expect(
      error.problems.first.map { "\($0.path): \($0.message)" }?.hasPrefix("tls_server_config.\(expected)") == true,
      "\(error)")
    #expect(!error.description.contains("s3cret"))
  }

  @Test(
    arguments: [
      (
        ["client_auth_type: RequestClientCert", "client_ca_file: authority.pem"],
        "5:19: client_ca_file: is of no use with RequestClientCert, which verifies no certificate; \(verify)"
      ),
      (
        ["client_auth_type: RequireAnyClientCert", "client_ca_file: authority.pem"],
        "5:19: client_ca_file: is of no use with RequireAnyClientCert, which verifies no certificate; \(verify)"
      ),
      (
        ["client_auth_type: RequestClientCert", "client_allowed_sans: [a]"],
        "5:24: client_allowed_sans: with RequestClientCert clients need no certificate; \(verify)"
      ),
      (
        ["client_auth_type: RequireAnyClientCert", "client_allowed_sans: []"],
        "5:24: client_allowed_sans: is empty, so no client would be let in; leave the key out to let all in"
      ),
      (
        ["client_auth_type: RequireAnyClientCert", "client_allowed_sans: [a, 5]"],
        "5:28: client_allowed_sans[1]: expected a string, found a number; write it in quotes"
      ),
      (["min_version: TLS13", "max_version: TLS12"], "5:16: max_version: is older than min_version; exchange the two"),
      (
        ["client_auth_type: RequireAndVerifyClientCert", "client_ca_file: ''"],
        "5:19: client_ca_file: is empty; name a file"
      ),
      (
        ["client_auth_type: RequireAndVerifyClientCert", "client_ca_file: none.pem"],
        "5:19: client_ca_file: \"DIR/none.pem\" can't be read: No such file or directory"
      ),
      (
        ["client_auth_type: RequireAndVerifyClientCert", "client_ca_file: text.pem"],
        "5:19: client_ca_file: \"DIR/text.pem\": the client CA file is not PEM; convert it with 'openssl x509'"
      ),
      (
        ["client_auth_type: RequireAndVerifyClientCert", "client_ca_file: server.key"],
        "5:19: client_ca_file: \"DIR/server.key\": the client CA file holds no certificate; give those of the "
          + "authorities to trust"
      ),
      (
        ["max_version: TLS12", "cipher_suites: [TLS_AES_128_GCM_SHA256]"],
        "2:3: TLS 1.2 is the newest version, and no cipher suite is one of it; add one, or allow TLS 1.3"
      ),
    ] as [([String], String)])
  func combinationsAreChecked(lines: [String], expected: String) throws {
    let error = try #require(throws: ConfigurationError.self) {
      _ = try read(Self.pair[0], Self.pair[1], lines[0], lines[1])
    }
    let place = expected.prefix { $0 != " " }, path = place == "2:3:" ? "tls_server_config:" : "tls_server_config."
    let text = "\(place) \(path)\(place == "2:3:" ? " " : "")\(expected.dropFirst(place.count + 1))"
    #expect(
      error.description == "\(certificates.path)/web.yml:" + text.replacing("DIR", with: certificates.path))
  }

  @Test(
    arguments: [
      ("server.pem", nil, ["2:3: key_file: is missing; TLS needs a certificate and its key"]),
      (nil, "server.key", ["2:3: cert_file: is missing; TLS needs a certificate and its key"]),
      ("", "server.key", ["2:14: cert_file: is empty; name a file"]),
      (
        "none.pem", "none.key",
        [
          "2:14: cert_file: \"DIR/none.pem\" can't be read: No such file or directory",
          "3:13: key_file: \"DIR/none.key\" can't be read: No such file or directory",
        ]
      ),
      (".", "server.key", ["2:14: cert_file: \"DIR/.\" can't be read: Is a directory"]),
      ("/dev/null", "server.key", ["2:14: cert_file: \"/dev/null\" is a device; give a regular file"]),
      ("large.pem", "server.key", ["2:14: cert_file: \"DIR/large.pem\" is larger than 1 MiB"]),
      (
        "empty.pem", "server.key",
        [
          "2:14: cert_file: \"DIR/empty.pem\": the certificate file is not PEM; convert it with 'openssl x509'"
        ]
      ),
      (
        "server.key", "server.key",
        [
          "2:14: cert_file: \"DIR/server.key\": the certificate file holds no certificate; give the chain, the "
            + "server's own certificate first"
        ]
      ),
      (
        "server.pem", "text.pem",
        [
          "3:13: key_file: \"DIR/text.pem\": the key file is not PEM; convert it with 'openssl pkey'"
        ]
      ),
      (
        "server.pem", "client.key",
        [
          "3:13: key_file: \"DIR/client.key\": the key does not belong to the certificate; give the key that the "
            + "certificate was made with"
        ]
      ),
    ] as [(String?, String?, [String])])
  func filesAreChecked(certificate: String?, key: String?, expected: [String]) throws {
    let lines = [certificate.map { "cert_file: '\($0)'" }, key.map { "key_file: '\($0)'" }].compactMap { $0 }
    let error = try #require(throws: ConfigurationError.self) {
      _ = try lines.count == 2 ? read(lines[0], lines[1]) : read(lines[0])
    }
    let full = expected.map { line in
      let place = line.prefix { $0 != " " }
      return "\(certificates.path)/web.yml:\(place) tls_server_config.\(line.dropFirst(place.count + 1))"
        .replacing("DIR", with: certificates.path)
    }
    #expect(error.lines == full)
  }

  @Test(arguments: ["", " {}", " {min_version: TLS13}", " []", " off"]) func theKeyAloneIsNoTLS(value: String) throws {
    let text = Array("tls_server_config:\(value)\n".utf8)
    let error = try #require(throws: ConfigurationError.self) {
      _ = try WebConfiguration(parsing: text, file: "web.yml")
    }
    let expected =
      value.contains("{")
      ? "tls_server_config.cert_file: is missing" : "tls_server_config: expected a mapping (key: value), found"
    #expect(error.description.contains(expected))
  }
}
