import Foundation
import Weir
import WeirHTTP

// A route's TLS towards its upstream. The files are read with the configuration, so their problems are problems of it.

extension ConfigurationReader {
  func upstreamTLS(of upstream: Upstream?) -> UpstreamTLS? {
    mapping { keys in
      var tls = UpstreamTLS()
      tls.authority = keys.take("ca")?.file(unless: Self.problem(authority:))
      let certificate = keys.take("certificate"), key = keys.take("key")
      tls.certificate = certificate?.file(unless: Self.problem(certificate:))
      tls.key = key?.file(unless: Self.problem(key:))
      tls.serverName = keys.take("serverName", as: .string, unless: Self.problem(serverName:))
      if let version = keys.take("minimumVersion", as: .tlsVersion) { tls.minimumVersion = version }
      if let pins = keys.take("pins") { tls.pins = pins.pins() }
      if certificate == nil, let key { key.report("is of no use without a certificate") }
      if key == nil, let certificate, let bytes = tls.certificate, let problem = Self.problem(key: bytes) {
        certificate.report("\(problem); give its key as well")
      }
      if upstream?.scheme == .http { report("needs an https:// upstream") }
      return tls
    }
  }

  private func pins() -> [TLSConfiguration.PublicKeyPin] {
    let list = elements() ?? []
    if list.isEmpty, case .sequence = node.content { report("holds no pin; leave the key out to pin nothing") }
    return list.compactMap { element in
      let text = element.read(as: .string) {
        Data(base64Encoded: $0)?.count == 32 ? nil : "must be the base64 of a SHA-256, 44 characters long"
      }
      return text.map { TLSConfiguration.PublicKeyPin(sha256: $0) }
    }
  }

  /// The bytes of the file that this value names.
  private func file(unless problem: ([UInt8]) -> String?) -> [UInt8]? {
    guard let path = read(as: .string, unless: { $0.hasPrefix("/") ? nil : "give an absolute path" }) else {
      return nil
    }
    do throws(ConfigurationError) {
      let bytes = try ConfigurationFile.bytes(of: path, noting: findings.reads)
      guard let text = bytes.count > YAMLLimits().bytes ? "is larger than 1 MiB" : problem(bytes) else { return bytes }
      report("\(quoted(path)) \(text)")
    } catch {
      report("\(quoted(path)) \(error.problems.first?.message ?? "can't be read")")
    }
    return nil
  }

  private static func problem(authority bytes: [UInt8]) -> String? {
    problem(PEM.defect(ofCertificates: bytes, areRoots: true))
  }

  private static func problem(certificate bytes: [UInt8]) -> String? {
    problem(PEM.defect(ofCertificates: bytes, areRoots: false))
  }

  private static func problem(_ defect: CertificatesDefect?) -> String? {
    switch defect {
    case .noCertificate: "holds no certificate in PEM"
    case .brokenCertificate: "holds a certificate that is broken off or can't be read"
    case nil: nil
    }
  }

  private static func problem(key bytes: [UInt8]) -> String? {
    let labels = PEM.pieces(of: bytes).map(\.label)
    if labels.contains("ENCRYPTED PRIVATE KEY") || PEM.hasEncryptedKey(bytes) {
      return "holds a key with a passphrase; give a key without one"
    }
    return labels.contains { $0.hasSuffix("PRIVATE KEY") } ? nil : "holds no private key in PEM"
  }

  private static func problem(serverName name: String) -> String? {
    HostSyntax.isName(name.utf8) ? nil : "\(quoted(name)) is not a host name"
  }
}

extension ConfigurationKind<TLSConfiguration.Version> {
  static var tlsVersion: Self {
    Self(name: "1.2 or 1.3") { scalar in
      switch scalar {
      case .string("1.2"), .float(1.2): .tls12
      case .string("1.3"), .float(1.3): .tls13
      default: nil
      }
    }
  }
}
