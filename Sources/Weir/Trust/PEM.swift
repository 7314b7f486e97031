/// A block of text with a label and bytes in base64 (RFC 7468).
package struct PEM: Equatable {
  /// The label, such as `CERTIFICATE` or `PUBLIC KEY`.
  package let label: String
  package let bytes: [UInt8]

  /// The blocks of a text, in order. Text between blocks is ignored (section 2), and incomplete blocks are left out.
  package static func pieces(of data: some Sequence<UInt8>) -> [PEM] { read(data).pieces }

  package var isCertificate: Bool { label == "CERTIFICATE" || label == "X509 CERTIFICATE" }

  /// OpenSSL's own form, in which its trust settings follow the certificate. OpenSSL also accepts this form for roots.
  private var isTrustedCertificate: Bool { label == "TRUSTED CERTIFICATE" }

  private var isReadableCertificate: Bool {
    var values = DERReader(bytes)
    guard isTrustedCertificate, let first = values.next() else { return DERReader.isCertificate(bytes) }
    return DERReader.isCertificate(Array(bytes[first.whole]))
  }

  /// Whether there is a key in the older encrypted form, which a header line marks (RFC 1421 section 4.6.1.1). With
  /// that line its text is not base64.
  package static func hasEncryptedKey(_ data: some Sequence<UInt8>) -> Bool {
    String(decoding: Array(data), as: UTF8.self).contains("Proc-Type: 4,ENCRYPTED")
  }

  /// The defect of certificates: there are none, or one is broken off or can't be parsed. OpenSSL would skip such a
  /// certificate.
  ///
  /// - Parameter areRoots: Whether OpenSSL's own form counts.
  package static func defect(ofCertificates data: some Sequence<UInt8>, areRoots: Bool) -> CertificatesDefect? {
    let (pieces, isWhole) = read(data)
    let certificates = pieces.filter { $0.isCertificate || areRoots && $0.isTrustedCertificate }
    if isWhole, certificates.isEmpty { return .noCertificate }
    return isWhole && certificates.allSatisfy(\.isReadableCertificate) ? nil : .brokenCertificate
  }

  /// The blocks, and whether every block that begins or ends in the data is whole. Keys in another form than base64
  /// count as whole.
  private static func read(_ data: some Sequence<UInt8>) -> (pieces: [PEM], isWhole: Bool) {
    var (pieces, isWhole) = ([PEM](), true)
    var open: (label: String, base64: String)?
    for line in String(decoding: Array(data), as: UTF8.self).split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      if line.hasPrefix("-----BEGIN") {
        let label = label(of: line, "BEGIN")
        if open != nil || label == nil { isWhole = false }
        open = label.map { ($0, "") }
      } else if line.hasPrefix("-----END") {
        let piece = open.flatMap { $0.label == label(of: line, "END") ? $0 : nil }
        let bytes = piece.flatMap { Data(base64Encoded: $0.base64) }
        if let piece, let bytes { pieces.append(PEM(label: piece.label, bytes: [UInt8](bytes))) }
        // The text of older encrypted keys is not base64.
        if piece == nil || bytes == nil && piece?.label.hasSuffix("CERTIFICATE") == true { isWhole = false }
        open = nil
      } else {
        open?.base64 += line
      }
    }
    return (pieces, isWhole && open == nil)
  }

  private static func label(of line: String, _ kind: String) -> String? {
    let (start, end) = ("-----\(kind) ", "-----")
    guard line.hasPrefix(start), line.hasSuffix(end), line.count > start.count + end.count else { return nil }
    return String(line.dropFirst(start.count).dropLast(end.count))
  }
}

/// A defect that makes certificates in PEM useless.
package enum CertificatesDefect: Error, CustomStringConvertible {
  case noCertificate, brokenCertificate

  package var description: String {
    switch self {
    case .noCertificate: "there is no certificate in PEM"
    case .brokenCertificate: "a certificate is broken off or can't be read"
    }
  }
}
