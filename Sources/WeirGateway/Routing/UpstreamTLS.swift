package import Weir
import WeirCurl

/// How a route's upstream proves who it is, and how the gateway does: what the files hold that the configuration names, so
/// that a reload sees whether they have changed.
package struct UpstreamTLS: Sendable, Hashable {
  /// Certificates in PEM; nil: whom the system trusts.
  package var authority: [UInt8]?
  /// In PEM, with those that lead to its root.
  package var certificate: [UInt8]?
  /// In PEM; with a certificate only.
  package var key: [UInt8]?
  /// What the upstream is asked for, and what its certificate must be for; nil: the URL's host.
  package var serverName: String?
  package var minimumVersion = TLSConfiguration.Version.tls12

  package init() {}

  /// Made once for a plan: connections are shared by those who demand and show the same.
  var trust: TransferTrust {
    var options = TLSOptions()
    if let authority { options.roots = .pem(authority) }
    if let certificate {
      options.clientCertificate = ClientCertificateOptions(
        format: .pem, certificate: .blob(certificate), key: key.map { .blob($0) })
    }
    options.minimumVersion = minimumVersion == .tls13 ? .tls13 : .tls12
    return TransferTrust(options, serverName: serverName)
  }
}

/// What there is, and no key.
extension UpstreamTLS: CustomStringConvertible, CustomReflectable {
  package var description: String {
    let files = [("authority", authority), ("certificate", certificate), ("key", key)]
    let parts = files.compactMap { name, bytes in bytes.map { "\(name): \($0.count) bytes" } }
    let name = serverName.map { ["serverName: \($0)"] } ?? []
    return "UpstreamTLS(\((parts + name + ["minimumVersion: \(minimumVersion)"]).joined(separator: ", ")))"
  }

  package var customMirror: Mirror { Mirror(self, children: ["description": description], displayStyle: .struct) }
}
