import WeirHTTP
import WeirIO
import WeirTLS

// The TLS of a listener towards its clients. The files are read with the configuration, so their problems are problems
// of it.

extension ListenerTLS {
  static let mapping = ConfigurationMapping(
    ListenerTLS(),
    misplaced: [
      "certificate": "it belongs into certificates: a list of { certificate, key }",
      "key": "it belongs into certificates: a list of { certificate, key }", "ca": "write clientCA",
    ],
    rules: [
      .needs(
        ["clientAuth", "forward"], "clientCA", "needs clientCA, the file of the authorities of clients' certificates")
    ]
  ) {
    Key(
      "certificates", .list(of: pair, 1...TLSSettings.maximumCertificates, "certificates"), \.files.certificates,
      "each `{ certificate, key }`", missing: .required("list at least one { certificate, key }"))
    Key(
      "strictNames", .boolean, \.files.rules.strictNames,
      """
      `true`: a client that names a host of no certificate gets the alert `unrecognized_name`, and a request for a \
      host that the connection's certificate does not cover 421
      """)
    Key(
      "minimumVersion", .version([("1.2", .v1_2), ("1.3", .v1_3)]), \.files.rules.minimumVersion,
      "the oldest version that is spoken")
    Key(
      "clientCA", .file, \.files.clientCA,
      "a PEM file of the authorities of clients' certificates; without it clients are asked for none")
    Key(
      "clientAuth", .word([("required", .required), ("optional", .optional)]), \.files.rules.clientAuth,
      "`optional`: a client may have no certificate; a bad one ends the handshake in both cases")
    Key("forward", Forwarding.form, \.forward, "fields by which upstreams are told of a client's certificate")
    Key(
      "ticketKeys", .file, \.files.ticketKeys,
      "a file with 1 to 4 keys of 80 bytes, for instances that share tickets; the first encrypts, all decrypt",
      missing: .words("drawn"))
  }

  static let form = ConfigurationForm<ListenerTLS>(mapping.shape) { reader in
    let problems = reader.findings.problems.count
    guard let entries = reader.mappingEntries() else { return nil }
    let (tls, given) = mapping.read(reader, entries)
    guard reader.findings.problems.count == problems else { return nil }
    let pairs = given["certificates"]?.elements()?.flatMap { ["certificate", "key"].map($0.child) } ?? []
    reader.check(tls.files, (pairs + [given["clientCA"], given["ticketKeys"]]).compactMap(\.self))
    return tls
  }

  private static let pair = ConfigurationMapping(TLSFiles.Pair(certificate: "", key: "")) {
    Key(
      "certificate", .file, \.certificate,
      "a PEM file: the server's own certificate first, then those that lead to its authority",
      missing: .required("it names a file in PEM, the server's own one first"))
    Key(
      "key", .file, \.key,
      "a PEM file with its private key, without passphrase",
      missing: .required("it names the file of the certificate's private key, in PEM"))
  }.form()
}

extension ListenerTLS.Forwarding {
  fileprivate static let form: ConfigurationForm<Self> = ConfigurationMapping(Self()) {
    Key("subject", field, \.subject, "the field that gets its subject, as RFC 2253 writes it: `CN=me,O=Example`")
    Key(
      "certificate", field, \.certificate,
      "the field that gets the certificate, as RFC 9440 writes it; `Client-Cert` is its standard name")
  }.form { forward, given in
    if let subject = forward.subject, let certificate = forward.certificate,
      FieldSyntax.isSameName(subject, certificate)
    {
      given.reader.report("has one field for both; give them different names")
    }
    return forward
  }

  private static let field = ConfigurationForm.text { HeaderRules.problem(setting: $0, of: .requests) }.called("name")
}

extension ConfigurationReader {
  /// Reports what is wrong with the files of a TLS that is served. Files that are used are looked at by that TLS itself,
  /// so only those with problems are noted.
  ///
  /// - Parameter readers: The values that name the files.
  func check(_ tls: TLSFiles, _ readers: [ConfigurationReader]) {
    let problems = findings.problems.count
    let marks = tls.paths.map { ($0, FileMark(ofFile: $0)) }
    defer {
      if findings.problems.count > problems { for (path, mark) in marks { findings.reads?.note(path, mark) } }
    }
    var all: [[UInt8]] = []
    for (index, reader) in readers.enumerated() {
      do {
        all.append(try tls.read(index))
      } catch {
        reader.report(error.description)
      }
    }
    guard all.count == readers.count else { return }
    do {
      _ = try tls.context(of: all)
    } catch {
      (error.file.map { readers[$0] } ?? self).report(error.description)
    }
  }
}
