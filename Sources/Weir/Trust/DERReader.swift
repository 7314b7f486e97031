/// Reads the values of a DER encoding (ITU-T X.690) one after another, each within the bounds of its container. The
/// bytes are not trusted: anything that is not a value gives nil, and nothing is read twice.
package struct DERReader {
  /// One value: its tag, the range of its contents, and the range of the whole encoding.
  package struct Value: Equatable {
    package let tag: UInt8
    package let contents: Range<Int>
    package let whole: Range<Int>
  }

  package static let integer: UInt8 = 0x02
  package static let bitString: UInt8 = 0x03
  package static let objectIdentifier: UInt8 = 0x06
  package static let sequence: UInt8 = 0x30

  private let bytes: [UInt8]
  private var position: Int
  private let end: Int

  package init(_ bytes: [UInt8]) {
    self.init(bytes, 0..<bytes.count)
  }

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    position = range.lowerBound
    end = min(range.upperBound, bytes.count)
  }

  package var isAtEnd: Bool { position >= end }

  /// The next value's tag.
  package var tag: UInt8? { isAtEnd ? nil : bytes[position] }

  /// Nil at the end. Also nil if no value of definite length lies within the bounds, or the tag has several bytes.
  package mutating func next() -> Value? {
    let start = position
    guard end - start >= 2, bytes[start] & 0x1f != 0x1f, let (length, header) = length(at: start + 1),
      length <= end - header
    else { return nil }
    position = header + length
    return Value(tag: bytes[start], contents: header..<position, whole: start..<position)
  }

  /// The next value, if it has this tag.
  package mutating func next(_ tag: UInt8) -> Value? {
    self.tag == tag ? next() : nil
  }

  /// A reader of the values inside a value.
  package func inside(_ value: Value) -> DERReader { DERReader(bytes, value.contents) }

  /// X.690 section 8.1.3: one byte, or as many bytes as the first says. At most three bytes are read, as no certificate
  /// is larger than 16 MiB.
  private func length(at index: Int) -> (length: Int, header: Int)? {
    let first = Int(bytes[index])
    if first < 0x80 { return (first, index + 1) }
    let count = first & 0x7f
    guard (1...3).contains(count), count < end - index else { return nil }
    let length = bytes[(index + 1)...(index + count)].reduce(0) { $0 << 8 | Int($1) }
    return (length, index + 1 + count)
  }
}

extension DERReader {
  /// The SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7) of a certificate, or the bytes themselves if they are one; nil
  /// for anything else.
  static func publicKey(in bytes: [UInt8]) -> ArraySlice<UInt8>? {
    var outside = DERReader(bytes)
    guard let all = outside.next(sequence), outside.isAtEnd else { return nil }
    return isPublicKey(all, outside) ? bytes[all.whole] : key(ofCertificate: all, outside).map { bytes[$0.whole] }
  }

  /// Whether the bytes are a certificate and nothing else.
  static func isCertificate(_ bytes: [UInt8]) -> Bool {
    var outside = DERReader(bytes)
    guard let all = outside.next(sequence), outside.isAtEnd else { return false }
    return key(ofCertificate: all, outside) != nil
  }

  private static func key(ofCertificate all: Value, _ outside: DERReader) -> Value? {
    var certificate = outside.inside(all)
    guard let body = certificate.next(sequence), certificate.next(sequence) != nil, certificate.next(bitString) != nil,
      certificate.isAtEnd
    else { return nil }
    var fields = certificate.inside(body)
    if fields.tag == 0xa0 { _ = fields.next() }  // the version, unless it is 1
    // Serial number, signature, issuer, validity, subject.
    guard fields.next(integer) != nil else { return nil }
    for _ in 0..<4 where fields.next(sequence) == nil { return nil }
    guard let key = fields.next(sequence), isPublicKey(key, fields) else { return nil }
    return key
  }

  /// Whether the value has an algorithm, which begins with its object identifier, and the key's bits.
  private static func isPublicKey(_ value: Value, _ reader: DERReader) -> Bool {
    var parts = reader.inside(value)
    guard let algorithm = parts.next(sequence), parts.next(bitString) != nil, parts.isAtEnd else { return false }
    var names = parts.inside(algorithm)
    return names.next(objectIdentifier) != nil
  }
}
