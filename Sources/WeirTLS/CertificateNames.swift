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
