import Weir
import WeirHTTP

// The TLS towards an upstream. The files are read with the configuration, so their problems are problems of it.

extension UpstreamTLS {
  static let form = form(of: keys)
  /// The same for proxies, whose URL has the name that is asked for.
  static let formOfProxies = form(of: keys.filter { $0.name != "serverName" })

  private static func form(of keys: [Key<UpstreamTLS>]) -> ConfigurationForm<UpstreamTLS> {
    ConfigurationMapping(
      UpstreamTLS(), rules: [.needs(["key"], "certificate", "is of no use without a certificate")], keys: { keys }
    ).form { tls, given in
      if !given.has("key"), let bytes = tls.certificate, let problem = problem(key: bytes) {
        given["certificate"]?.report("\(problem); give its key as well")
      }
      return tls
    }
  }

  @KeyList<UpstreamTLS> private static var keys: [Key<UpstreamTLS>] {
    Key(
      "ca", file { problem(certificates: $0, areRoots: true) }, \.authority,
      "the certificates that the upstream's must lead to, in place of the system's",
      missing: .words("the system's roots"))
    Key(
      "certificate", file { problem(certificates: $0, areRoots: false) }, \.certificate,
      "shown when the upstream asks for one, with the certificates that lead to its root")
    Key(
      "key", file(unless: problem(key:)), \.key,
      "the certificate's private key, without a passphrase", missing: .words("in `certificate`"))
    Key(
      "serverName", .text { HostSyntax.isName($0.utf8) ? nil : "\(quoted($0)) is not a host name" }.called("host name"),
      \.serverName,
      "the name asked for (SNI), which the upstream's certificate must have",
      missing: .words("the URL's host; in `upstreams` the endpoint as written"))
    Key("minimumVersion", .version([("1.2", .tls12), ("1.3", .tls13)]), \.minimumVersion)
    Key(
      "pins", .list(of: pin, 1...Int.max, empty: "holds no pin; leave the key out to pin nothing"), \.pins,
      "SHA-256 of public keys in base64, of which the upstream must have one")
  }

  private static let pin = ConfigurationForm.text("^[A-Za-z0-9+/]{43}=$") {
    $0.utf8.count == 44 && Data(base64Encoded: $0)?.count == 32
      ? nil : "must be the base64 of a SHA-256, 44 characters long"
  }.map(back: \.sha256) { TLSConfiguration.PublicKeyPin(sha256: $0) }

  /// The bytes of a file.
  private static func file(unless problem: @escaping @Sendable ([UInt8]) -> String?) -> ConfigurationForm<[UInt8]> {
    let path = ConfigurationForm.file
    return ConfigurationForm(path.shape) { reader in
      guard let path = path.read(reader), let bytes = reader.bytes(ofFile: path) else { return nil }
      guard let text = bytes.count > YAMLLimits().bytes ? "is larger than 1 MiB" : problem(bytes) else { return bytes }
      reader.report("\(quoted(path)) \(text)")
      return nil
    }
  }

  private static func problem(certificates bytes: [UInt8], areRoots: Bool) -> String? {
    switch PEM.defect(ofCertificates: bytes, areRoots: areRoots) {
    case .noCertificate: "holds no certificate in PEM"
    case .brokenCertificate: "holds a certificate that is broken off or can't be read"
    case nil: nil
    }
  }

  @Sendable private static func problem(key bytes: [UInt8]) -> String? {
    let labels = PEM.pieces(of: bytes).map(\.label)
    if labels.contains("ENCRYPTED PRIVATE KEY") || PEM.hasEncryptedKey(bytes) {
      return "holds a key with a passphrase; give a key without one"
    }
    return labels.contains { $0.hasSuffix("PRIVATE KEY") } ? nil : "holds no private key in PEM"
  }
}
