internal import CTLS
internal import WeirIO

/// The hosts that a certificate is for: its subjectAltName's DNS names and addresses (RFC 6125, RFC 9525).
struct CertificateNames: Sendable, Equatable {
  /// In lower case and without a dot at the end, in the certificate's order.
  private(set) var exact: [String] = []
  /// The parts of `*.` names after the star, each with its leading dot.
  private(set) var wildcards: [String] = []
  private(set) var addresses: [IPAddress] = []
  /// The first DNS name; without one, the subject's common name; nil without that either.
  private(set) var first: String?

  init(_ certificate: OpaquePointer) {
    readAlternatives(of: certificate)
    if first == nil { first = Self.commonName(of: certificate) }
  }

  /// Whether the certificate is for a URL's host, which may be a name or an address, in brackets too.
  func covers(host: String) -> Bool {
    if let address = Self.address(host) { return addresses.contains(address) }
    let name = Self.normal(host)
    if exact.contains(name) { return true }
    guard let rest = Self.afterFirstLabel(name) else { return false }
    return wildcards.contains(rest)
  }

  /// A name in the spelling of the tables: in lower case and without a dot at its end. Letters beyond ASCII stay, since
  /// Unicode has some whose lower case is in ASCII.
  static func normal(_ name: String) -> String {
    let bytes = name.utf8.last == UInt8(ascii: ".") ? name.utf8.dropLast() : name.utf8[...]
    let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
    return String(decoding: bytes.map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }

  /// The rest of a name from its first dot on; nil if a wildcard can't stand for what precedes the dot.
  static func afterFirstLabel(_ name: String) -> String? {
    guard let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return nil }
    return String(name[dot...])
  }

  private static func address(_ host: String) -> IPAddress? {
    host.hasPrefix("[") && host.hasSuffix("]") ? IPAddress(host.dropFirst().dropLast()) : IPAddress(host)
  }

  private mutating func readAlternatives(of certificate: OpaquePointer) {
    AlternativeNames.visit(certificate) { type, bytes in
      switch type {
      case GEN_DNS: add(name: bytes)
      case GEN_IPADD: if let address = AlternativeNames.address(bytes) { addresses.append(address) }
      default: break
      }
    }
  }

  private mutating func add(name bytes: [UInt8]) {
    // A NUL would end the name for some readers only.
    guard !bytes.isEmpty, bytes.allSatisfy({ $0 > UInt8(ascii: " ") && $0 < 0x7f }) else { return }
    let name = Self.normal(String(decoding: bytes, as: UTF8.self))
    if first == nil { first = name }
    if !name.contains("*") {
      exact.append(name)
    } else if name.hasPrefix("*."), name.utf8.count > 2, !name.dropFirst().contains("*") {
      wildcards.append(String(name.dropFirst()))
    }
  }

  private static func commonName(of certificate: OpaquePointer) -> String? {
    guard let subject = X509_get_subject_name(certificate) else { return nil }
    let index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
    guard index >= 0, let entry = X509_NAME_get_entry(subject, index), let value = X509_NAME_ENTRY_get_data(entry)
    else { return nil }
    var text: UnsafeMutablePointer<UInt8>?
    let length = ASN1_STRING_to_UTF8(&text, value)
    guard length >= 0, let text else { return nil }
    defer { CRYPTO_free(text, nil, 0) }
    return String(decoding: UnsafeBufferPointer(start: text, count: Int(length)), as: UTF8.self)
  }
}

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
