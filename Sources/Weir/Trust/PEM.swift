import Foundation

/// A piece of text with a name and bytes in base64 (RFC 7468).
package struct PEM: Equatable {
  /// `CERTIFICATE`, `PUBLIC KEY`.
  package let label: String
  package let bytes: [UInt8]

  /// The pieces of a text, in order; what stands between them is not looked at (section 2), and what is no whole piece is
  /// left out.
  package static func pieces(of data: some Sequence<UInt8>) -> [PEM] {
    var pieces: [PEM] = []
    var open: (label: String, base64: String)?
    for line in String(decoding: Array(data), as: UTF8.self).split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      if let label = label(of: line, "BEGIN") {
        open = (label, "")
      } else if let end = label(of: line, "END") {
        if let piece = open, piece.label == end, let bytes = Data(base64Encoded: piece.base64) {
          pieces.append(PEM(label: end, bytes: [UInt8](bytes)))
        }
        open = nil
      } else {
        open?.base64 += line
      }
    }
    return pieces
  }

  package var isCertificate: Bool { label == "CERTIFICATE" || label == "X509 CERTIFICATE" }

  /// Whether the bytes are those of a certificate, or of a public key.
  package var hasPublicKey: Bool { DERReader.publicKey(in: bytes) != nil }

  /// Whether there is a key in the older form that says so in a line of its own (RFC 1421 section 4.6.1.1), which is no
  /// base64.
  package static func hasEncryptedKey(_ data: some Sequence<UInt8>) -> Bool {
    String(decoding: Array(data), as: UTF8.self).contains("Proc-Type: 4,ENCRYPTED")
  }

  /// As roots, OpenSSL takes those with its own remarks too.
  package static func hasCertificate(_ data: some Sequence<UInt8>) -> Bool {
    pieces(of: data).contains { $0.isCertificate || $0.label == "TRUSTED CERTIFICATE" }
  }

  private static func label(of line: String, _ kind: String) -> String? {
    let (start, end) = ("-----\(kind) ", "-----")
    guard line.hasPrefix(start), line.hasSuffix(end), line.count > start.count + end.count else { return nil }
    return String(line.dropFirst(start.count).dropLast(end.count))
  }
}
