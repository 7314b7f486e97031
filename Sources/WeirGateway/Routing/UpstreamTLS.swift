package import Weir
import WeirCurl

/// The TLS settings of a route's upstream: how the upstream is verified, and the certificate that the gateway shows. It
/// holds the contents of the files that the configuration names, so that a reload sees whether they have changed.
package struct UpstreamTLS: Sendable, Hashable {
  /// The trusted certificates in PEM; nil means those that the system trusts.
  package var authority: [UInt8]?
  /// The client certificate in PEM, with the intermediate ones.
  package var certificate: [UInt8]?
  /// The client certificate's key in PEM. Only used with a certificate.
  package var key: [UInt8]?
  /// The name sent to the upstream (SNI) and expected in its certificate; nil means the URL's host.
  package var serverName: String?
  package var minimumVersion = TLSConfiguration.Version.tls12
  /// The keys of which the upstream must have one; empty for any.
  package var pins: [TLSConfiguration.PublicKeyPin] = []

  package init() {}

  /// The transport's form of these settings, made once for a plan: requests with equal settings share connections.
  var trust: TransferTrust {
    var options = TLSOptions()
    if let authority { options.roots = .pem(authority) }
    if let certificate {
      options.clientCertificate = ClientCertificateOptions(
        format: .pem, certificate: .blob(certificate), key: key.map { .blob($0) })
    }
    options.minimumVersion = minimumVersion == .tls13 ? .tls13 : .tls12
    options.pinnedPublicKeys = pins.map(\.sha256)
    return TransferTrust(options, serverName: serverName)
  }
}

/// Describes which settings are there, but shows no key.
extension UpstreamTLS: CustomStringConvertible, CustomReflectable {
  package var description: String {
    let files = [("authority", authority), ("certificate", certificate), ("key", key)]
    let parts = files.compactMap { name, bytes in bytes.map { "\(name): \($0.count) bytes" } }
    let pinned = pins.isEmpty ? [] : ["pins: \(pins.count)"]
    let name = serverName.map { ["serverName: \($0)"] } ?? []
    return "UpstreamTLS(\((parts + name + pinned + ["minimumVersion: \(minimumVersion)"]).joined(separator: ", ")))"
  }

  package var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .struct) }
}
