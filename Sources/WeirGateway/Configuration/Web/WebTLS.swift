package import WeirTLS

/// The TLS of the metrics address: `tls_server_config`. It names the files, which are read again whenever they change.
package struct WebTLS: Sendable, Equatable {
  package var certificateFile: String
  package var keyFile: String
  package var clientCAFile: String?
  /// The settings without what the files hold.
  package var rules: TLSSettings

  /// Whether clients without a certificate that was verified are refused.
  var needsCertificates: Bool { rules.clientAuth == .required && clientCAFile != nil }

  /// The certificate's file, the key's, and that of the clients' authorities if there is one.
  var files: TLSFiles {
    TLSFiles(
      [certificateFile, keyFile] + (clientCAFile.map { [$0] } ?? []),
      place: { part in
        switch part {
        case .chain: 0
        case .key: 1
        case .clientCA: 2
        case .ticketKeys, .other: nil
        }
      },
      make: { [rules] bytes in
        var settings = rules
        settings.certificates = [TLSCertificate(chain: bytes[0], key: bytes[1])]
        settings.clientCA = bytes.count > 2 ? bytes[2] : nil
        return settings
      })
  }
}
