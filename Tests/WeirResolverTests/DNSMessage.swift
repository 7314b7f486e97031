import WeirIO

/// A question that a peer received.
struct DNSQuestion: Sendable {
  enum Kind: UInt16, Sendable {
    case ipv4 = 1
    case ipv6 = 28
    case service = 33
    case other = 0
  }

  let id: UInt16
  let name: String
  let kind: Kind
  /// The section with the question, as received.
  let section: [UInt8]
  let isOverTCP: Bool

  /// Nil for bytes that are no question of one name.
  init?(_ bytes: [UInt8], isOverTCP: Bool) {
    guard bytes.count > 16 else { return nil }
    id = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
    var labels: [String] = []
    var at = 12
    while at < bytes.count, bytes[at] != 0 {
      let end = at + 1 + Int(bytes[at])
      guard end < bytes.count else { return nil }
      labels.append(String(decoding: bytes[(at + 1)..<end], as: UTF8.self))
      at = end
    }
    guard at + 5 <= bytes.count else { return nil }
    name = labels.joined(separator: ".")
    kind = Kind(rawValue: UInt16(bytes[at + 1]) << 8 | UInt16(bytes[at + 2])) ?? .other
    section = Array(bytes[12..<(at + 5)])
    self.isOverTCP = isOverTCP
  }
}

/// A reply that a peer sends.
struct DNSReply: Sendable {
  struct Record: Sendable {
    var owner: [UInt8]
    var kind: UInt16
    var ttl: UInt32
    var data: [UInt8]

    /// A pointer to the name of the question.
    static let questionName: [UInt8] = [0xC0, 0x0C]

    static func address(_ text: String, ttl: UInt32 = 60, owner: String? = nil) -> Record {
      let owner = owner.map { DNSReply.bytes(ofName: $0) } ?? questionName
      switch IPAddress(text) {
      case .v4(let number): return Record(owner: owner, kind: 1, ttl: ttl, data: DNSReply.bytes(number))
      case .v6(let high, let low):
        return Record(owner: owner, kind: 28, ttl: ttl, data: DNSReply.bytes(high) + DNSReply.bytes(low))
      case nil: preconditionFailure("\(text) is no address")
      }
    }

    static func alias(of owner: String? = nil, to target: String, ttl: UInt32 = 60) -> Record {
      Record(
        owner: owner.map { DNSReply.bytes(ofName: $0) } ?? questionName, kind: 5, ttl: ttl,
        data: DNSReply.bytes(ofName: target))
    }

    static func service(_ target: String, port: UInt16, priority: UInt16 = 0, weight: UInt16 = 1) -> Record {
      Record(
        owner: questionName, kind: 33, ttl: 60,
        data: DNSReply.bytes(priority) + DNSReply.bytes(weight) + DNSReply.bytes(port)
          + DNSReply.bytes(ofName: target))
    }

    var bytes: [UInt8] {
      owner + DNSReply.bytes(kind) + [0, 1] + DNSReply.bytes(ttl) + DNSReply.bytes(UInt16(data.count)) + data
    }
  }

  var records: [Record] = []
  var code: UInt8 = 0
  var isTruncated = false
  /// Another id than the question's.
  var id: UInt16?
  /// Another section of questions than the received one.
  var section: [UInt8]?

  func bytes(to question: DNSQuestion) -> [UInt8] {
    Self.bytes(id ?? question.id) + [isTruncated ? 0x87 : 0x85, 0x80 | code, 0, 1]
      + Self.bytes(UInt16(records.count)) + [0, 0, 0, 0] + (section ?? question.section)
      + records.flatMap(\.bytes)
  }

  static func bytes(ofName name: String) -> [UInt8] {
    name.split(separator: ".").flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
  }

  static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}
