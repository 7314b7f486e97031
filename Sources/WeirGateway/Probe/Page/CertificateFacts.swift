import Weir
import WeirHTTP

/// The facts of a certificate that a probe shows, in the spelling of Go's crypto/x509, which blackbox_exporter uses.
struct CertificateFacts: Equatable, Sendable {
  /// Seconds since 1970.
  let notAfter: Int
  let subject: String
  let issuer: String
  /// The DNS names of subjectAltName (RFC 5280 section 4.2.1.6), in order.
  let names: [String]
  /// The SHA-256 of the certificate, in hexadecimal.
  let fingerprint: String

  /// Reads a certificate in DER (RFC 5280 section 4.1); nil for anything else.
  init?(_ bytes: [UInt8]) {
    var outside = DERReader(bytes)
    guard let all = outside.next(DERReader.sequence) else { return nil }
    var certificate = outside.inside(all)
    guard let body = certificate.next(DERReader.sequence) else { return nil }
    var fields = certificate.inside(body)
    if fields.tag == 0xa0 { _ = fields.next() }  // the version, unless it is 1
    guard fields.next(DERReader.integer) != nil, fields.next(DERReader.sequence) != nil,
      let issuer = fields.next(DERReader.sequence), let validity = fields.next(DERReader.sequence),
      let subject = fields.next(DERReader.sequence), fields.next(DERReader.sequence) != nil
    else { return nil }
    var times = fields.inside(validity)
    guard times.next() != nil, let end = times.next(), let notAfter = Self.time(end, bytes) else { return nil }
    self.notAfter = notAfter
    self.issuer = DistinguishedName(fields.inside(issuer), bytes).text
    self.subject = DistinguishedName(fields.inside(subject), bytes).text
    var names: [String] = []
    while let field = fields.next() {
      if field.tag == 0xa3 { names = Self.names(fields.inside(field), bytes) }
    }
    self.names = names
    fingerprint = SHA256.hexadecimal(of: bytes)
  }

  /// UTCTime and GeneralizedTime (RFC 5280 section 4.1.2.5), which end with seconds and Z.
  private static func time(_ value: DERReader.Value, _ bytes: [UInt8]) -> Int? {
    var digits = bytes[value.contents]
    guard digits.popLast() == UInt8(ascii: "Z"), digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    if value.tag == 0x17, digits.count == 12 {
      let isLast = digits[digits.startIndex] >= UInt8(ascii: "5")
      digits = (isLast ? Array("19".utf8) : Array("20".utf8))[...] + digits
    }
    guard digits.count == 14 else { return nil }
    let all = Array(digits)
    func number(_ range: Range<Int>) -> Int { all[range].reduce(0) { $0 * 10 + Int($1 &- 0x30) } }
    return HTTPDate.seconds(
      number(0..<4), number(4..<6), number(6..<8), number(8..<10), number(10..<12), number(12..<14))
  }

  private static func names(_ reader: DERReader, _ bytes: [UInt8]) -> [String] {
    var reader = reader
    guard let list = reader.next(DERReader.sequence) else { return [] }
    var extensions = reader.inside(list)
    while let one = extensions.next(DERReader.sequence) {
      var parts = extensions.inside(one)
      guard let identifier = parts.next(DERReader.objectIdentifier) else { return [] }
      if parts.tag == 0x01 { _ = parts.next() }  // whether it is critical
      // 2.5.29.17, subjectAltName
      guard Array(bytes[identifier.contents]) == [0x55, 0x1d, 0x11], let value = parts.next(0x04) else { continue }
      var octets = parts.inside(value)
      guard let names = octets.next(DERReader.sequence) else { return [] }
      var entries = octets.inside(names)
      var found: [String] = []
      while let entry = entries.next() {
        if entry.tag == 0x82 { found.append(String(decoding: bytes[entry.contents], as: UTF8.self)) }
      }
      return found
    }
    return []
  }
}

/// A distinguished name as Go writes it: the attributes in Go's own order, which is not that of the certificate.
private struct DistinguishedName {
  let text: String

  init(_ reader: DERReader, _ bytes: [UInt8]) {
    var attributes: [(identifier: String, value: String)] = []
    var sets = reader
    while let set = sets.next(0x31) {
      var pairs = sets.inside(set)
      while let pair = pairs.next(DERReader.sequence) {
        var parts = pairs.inside(pair)
        guard let identifier = parts.next(DERReader.objectIdentifier), let value = parts.next() else { continue }
        attributes.append((Self.dotted(bytes[identifier.contents]), Self.string(value, bytes)))
      }
    }
    var groups: [String] = []
    for (name, identifier, isSingle) in Self.known {
      let values = attributes.filter { $0.identifier == identifier }.map(\.value)
      guard let last = values.last, !isSingle || !last.isEmpty else { continue }
      groups.append((isSingle ? [last] : values).map { "\(name)=\(Self.escaped($0))" }.joined(separator: "+"))
    }
    let others = attributes.filter { attribute in !Self.known.contains { $0.identifier == attribute.identifier } }
    groups += others.reversed().map { "\($0.identifier)=#\(Self.encoded($0.value))" }
    text = groups.joined(separator: ",")
  }

  /// The attributes with names, in the order of the text. Of a single one the last value counts.
  private static let known: [(name: String, identifier: String, isSingle: Bool)] = [
    ("SERIALNUMBER", "2.5.4.5", true), ("CN", "2.5.4.3", true), ("OU", "2.5.4.11", false), ("O", "2.5.4.10", false),
    ("POSTALCODE", "2.5.4.17", false), ("STREET", "2.5.4.9", false), ("L", "2.5.4.7", false), ("ST", "2.5.4.8", false),
    ("C", "2.5.4.6", false),
  ]

  /// An object identifier in numbers (X.690 section 8.19).
  private static func dotted(_ octets: ArraySlice<UInt8>) -> String {
    var numbers: [UInt64] = []
    var number: UInt64 = 0
    for octet in octets {
      guard number < 1 << 56 else { return "" }
      number = number << 7 | UInt64(octet & 0x7f)
      guard octet & 0x80 == 0 else { continue }
      if numbers.isEmpty {
        let first = min(number / 40, 2)
        numbers = [first, number - first * 40]
      } else {
        numbers.append(number)
      }
      number = 0
    }
    return numbers.map(String.init).joined(separator: ".")
  }

  private static func string(_ value: DERReader.Value, _ bytes: [UInt8]) -> String {
    let octets = bytes[value.contents]
    guard value.tag == 0x1e else { return String(decoding: octets, as: UTF8.self) }
    // A BMPString is UTF-16.
    let units = stride(from: octets.startIndex, to: octets.endIndex - 1, by: 2).map { index in
      UInt16(octets[index]) << 8 | UInt16(octets[index + 1])
    }
    return String(decoding: units, as: UTF16.self)
  }

  /// RFC 2253 section 2.4.
  private static func escaped(_ value: String) -> String {
    let scalars = Array(value.unicodeScalars)
    var text = ""
    for (index, scalar) in scalars.enumerated() {
      let isAtEnd = index == 0 || index == scalars.count - 1
      let isEscaped =
        ",+\"\\<>;".unicodeScalars.contains(scalar) || scalar == " " && isAtEnd || scalar == "#" && index == 0
      if isEscaped { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    return text
  }

  /// The hexadecimal DER of a value without a name: as a PrintableString if it can be one, else as a UTF8String.
  private static func encoded(_ value: String) -> String {
    let isPrintable = value.utf8.allSatisfy { octet in
      octet.isDigit || (0x41...0x5a).contains(octet & 0xdf) || " '()+,-./:=?".utf8.contains(octet)
    }
    let octets = Array(value.utf8.prefix(65_535))
    var der: [UInt8] = [isPrintable ? 0x13 : 0x0c]
    switch octets.count {
    case ..<0x80: der.append(UInt8(octets.count))
    case ..<0x100: der += [0x81, UInt8(octets.count)]
    default: der += [0x82, UInt8(octets.count >> 8), UInt8(octets.count & 0xff)]
    }
    return (der + octets).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
