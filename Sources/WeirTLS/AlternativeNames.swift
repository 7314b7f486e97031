internal import CTLS
internal import WeirIO

/// The entries of a certificate's subjectAltName (RFC 5280 §4.2.1.6).
enum AlternativeNames {
  /// Calls `body` with OpenSSL's number for each entry's kind, and its bytes.
  static func visit(_ certificate: OpaquePointer, _ body: (_ type: CInt, _ bytes: [UInt8]) -> Void) {
    guard let found = X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else { return }
    let names = OpaquePointer(found)
    defer { GENERAL_NAMES_free(names) }
    for index in 0..<weir_names_count(names) {
      var type: CInt = 0
      guard let value = GENERAL_NAME_get0_value(weir_names_at(names, index), &type) else { continue }
      switch type {
      case GEN_DNS, GEN_EMAIL, GEN_URI, GEN_IPADD:
        body(type, bytes(of: value.assumingMemoryBound(to: ASN1_STRING.self)))
      default: break
      }
    }
  }

  /// The DNS names, email addresses, IP addresses and URIs as texts. Entries that are no ASCII text are left out.
  static func texts(of certificate: OpaquePointer) -> [String] {
    var texts: [String] = []
    visit(certificate) { type, bytes in
      if type == GEN_IPADD {
        if let address = address(bytes) { texts.append("\(address.unmapped)") }
      } else if bytes.allSatisfy({ $0 > UInt8(ascii: " ") && $0 < 0x7f }) {
        texts.append(String(decoding: bytes, as: UTF8.self))
      }
    }
    return texts
  }

  /// The address of an entry's bytes; nil if it has another length.
  static func address(_ bytes: [UInt8]) -> IPAddress? {
    let number = { (range: Range<Int>) in bytes[range].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    return switch bytes.count {
    case 4: .v4(UInt32(truncatingIfNeeded: number(0..<4)))
    case 16: .v6(high: number(0..<8), low: number(8..<16))
    default: nil
    }
  }

  private static func bytes(of string: UnsafePointer<ASN1_STRING>) -> [UInt8] {
    guard let data = ASN1_STRING_get0_data(string) else { return [] }
    return Array(UnsafeBufferPointer(start: data, count: Int(ASN1_STRING_length(string))))
  }
}
