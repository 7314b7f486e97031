import WeirHTTP

/// Request header lines as bytes, in the form that libcurl takes.
///
/// Values need not be text: field values are octets (RFC 9110 §5.5), and who forwards them must not change any.
///
/// Framing is nobody's but the engine's: fields that say where a message ends, or that belong to one connection, are
/// left out here, whoever adds them. A wrong length would make the rest of a body the next request. There is one Host
/// at most, and it is a host.
package struct HeaderBlock: Sendable {
  /// The lines, each ended by a zero byte.
  private(set) var bytes: [UInt8] = []
  /// Where each line begins.
  private(set) var starts: [UInt32] = []
  /// Why the lines can't be sent; a transfer with them fails.
  private(set) var defect: String?
  private(set) var noted = NotedFields()

  /// Fields that libcurl would add of its own accord, or acts upon.
  struct NotedFields: OptionSet {
    let rawValue: UInt8

    static let accept = NotedFields(rawValue: 1)
    static let contentType = NotedFields(rawValue: 2)
    static let expect = NotedFields(rawValue: 4)
    static let host = NotedFields(rawValue: 8)
    /// Of one connection or of a message's framing (RFC 9110 §7.6.1, RFC 9112 §6); never kept.
    static let framing = NotedFields(rawValue: 16)
    static let authorization = NotedFields(rawValue: 32)
    /// Credentials that are the connection's.
    static let connectionAuthentication = NotedFields(rawValue: 64)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// What a line's name says. The length decides first, so that most names cost one comparison at most.
    init(name: UnsafeRawBufferPointer) {
      switch name.count {
      case 2 where name.spells("te"): self = .framing
      case 4 where name.spells("host"): self = .host
      case 6 where name.spells("accept"): self = .accept
      case 6 where name.spells("expect"): self = .expect
      case 7 where name.spells("trailer") || name.spells("upgrade"): self = .framing
      case 10 where name.spells("connection") || name.spells("keep-alive"): self = .framing
      case 12 where name.spells("content-type"): self = .contentType
      case 13 where name.spells("authorization"): self = .authorization
      case 14 where name.spells("content-length"): self = .framing
      case 16 where name.spells("proxy-connection"): self = .framing
      case 17 where name.spells("transfer-encoding"): self = .framing
      default: self = []
      }
    }
  }

  package init(reservingBytes count: Int = 0, fields: Int = 0) {
    bytes.reserveCapacity(count)
    starts.reserveCapacity(fields)
  }

  package var count: Int { starts.count }

  /// Whether there is an Accept field.
  package var hasAccept: Bool { noted.contains(.accept) }

  /// Adds a field, unless it is one of framing. A value without visible bytes is sent as an empty field.
  ///
  /// - Parameter isChecked: Whether it is known that the name is a token and the value field content (RFC 9110 §5.5).
  package mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isChecked: Bool = false) {
    guard isChecked || !name.isEmpty && Self.isSendable(name: name) && Self.isSendable(value: value) else {
      defect = defect ?? "a header line has no name or holds a line end or a zero byte"
      return
    }
    let kind = NotedFields(name: name)
    if kind == .framing { return }
    if kind == .host, let wrong = defect(ofHost: value) {
      defect = defect ?? wrong
      return
    }
    noted.formUnion(kind)
    if kind == .authorization, ConnectionAuthentication.begins(value) { noted.insert(.connectionAuthentication) }
    starts.append(UInt32(truncatingIfNeeded: bytes.count))
    // libcurl reads "Name:" as "leave it out", and "Name;" as "send it empty".
    if value.first ?? 32 <= 32, value.allSatisfy(\.isBlank) {
      bytes.append(field: name, ";", UnsafeRawBufferPointer(start: nil, count: 0), "\0")
    } else {
      bytes.append(field: name, ": ", value, "\0")
    }
  }

  /// Adds all fields of another block.
  package mutating func append(contentsOf other: HeaderBlock) {
    let offset = UInt32(truncatingIfNeeded: bytes.count)
    bytes.append(contentsOf: other.bytes)
    for start in other.starts { starts.append(start &+ offset) }
    if noted.contains(.host), other.noted.contains(.host) { defect = defect ?? Self.secondHost }
    noted.formUnion(other.noted)
    defect = defect ?? other.defect
  }

  /// Adds a field given as `Name: value`.
  package mutating func append(line: String) {
    var line = line
    line.withUTF8 { line in
      let line = UnsafeRawBufferPointer(line)
      let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? 0
      let value = line[min(colon + 1, line.count)...].drop { $0.isBlank }
      append(name: UnsafeRawBufferPointer(rebasing: line[..<colon]), value: UnsafeRawBufferPointer(rebasing: value))
    }
  }

  /// Adds a field.
  package mutating func append(name: String, value: String) {
    var (name, value) = (name, value)
    name.withUTF8 { name in
      value.withUTF8 { value in
        append(
          name: UnsafeRawBufferPointer(name),
          value: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(value).drop { $0.isBlank }))
      }
    }
  }

  /// Calls `body` with name and value of each field.
  package func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      for (index, start) in starts.enumerated() {
        let end = (index + 1 < starts.count ? Int(starts[index + 1]) : bytes.count) - 1
        let line = UnsafeRawBufferPointer(rebasing: bytes[Int(start)..<end])
        guard let mark = line.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ";") }) else {
          continue
        }
        body(
          UnsafeRawBufferPointer(rebasing: line[..<mark]),
          UnsafeRawBufferPointer(rebasing: line[min(mark + 2, line.count)...]))
      }
    }
  }

  private static let secondHost = "a request has one Host field, and here are two"

  /// Why a Host field can't be sent: the first was another, or this is no host with or without a port (RFC 9110 §7.2).
  private func defect(ofHost value: UnsafeRawBufferPointer) -> String? {
    if noted.contains(.host) { return Self.secondHost }
    let isHost = !value.isEmpty && value.allSatisfy { $0 > 32 && $0 != 127 && !Self.notInHost.contains($0) }
    return isHost ? nil : "the Host field holds no host, or more than a host and a port"
  }

  /// What ends a host or lists several: a server might go by either part.
  private static let notInHost = Array(#",/?#@\"<>"#.utf8)

  /// Reductions without early exit, which the optimiser makes into few instructions.
  private static func isSendable(name: UnsafeRawBufferPointer) -> Bool {
    var bad: UInt8 = 0
    for byte in name { bad |= byte <= 32 || byte == 127 || byte == 58 || byte == 59 ? 1 : 0 }  // colon, semicolon
    return bad == 0
  }

  private static func isSendable(value: UnsafeRawBufferPointer) -> Bool {
    var bad: UInt8 = 0
    for byte in value { bad |= byte == 0 || byte == 10 || byte == 13 ? 1 : 0 }
    return bad == 0
  }
}
