import CCurl
import WeirHTTP

/// Request header lines as bytes, in the form in which HTTP/1.1 sends them.
///
/// Values need not be text: field values are octets (RFC 9110 §5.5), and a gateway must not change any of them.
///
/// Only the engine writes framing. Fields that say where a message ends, or that belong to one connection, are left out
/// here, whatever their source. A wrong length would make the rest of a body the next request. There is at most one
/// Host field, and its value must be a host.
package struct HeaderBlock: Sendable {
  /// The lines, each ended by CRLF.
  package private(set) var bytes: [UInt8] = []
  /// The number of lines.
  package private(set) var count = 0
  /// The line of the Host field in `bytes`; empty if there is none.
  package private(set) var hostLine: Range<Int> = 0..<0
  /// The value in that line; empty without it.
  package var hostValue: Range<Int> {
    hostLine.isEmpty ? hostLine : hostLine.lowerBound + Self.hostName..<hostLine.upperBound - 2
  }

  /// The length of `Host: `.
  private static let hostName = 6

  /// Why the lines can't be sent; a transfer with them fails. Nil if they can.
  package private(set) var defect: String?
  private(set) var noted = NotedFields()

  /// Fields that libcurl would add of its own accord, or that change what it does.
  struct NotedFields: OptionSet {
    let rawValue: UInt8

    static let accept = NotedFields(rawValue: 1)
    static let contentType = NotedFields(rawValue: 2)
    static let expect = NotedFields(rawValue: 4)
    static let host = NotedFields(rawValue: 8)
    /// Fields of one connection or of a message's framing (RFC 9110 §7.6.1, RFC 9112 §6); never kept.
    static let framing = NotedFields(rawValue: 16)
    static let authorization = NotedFields(rawValue: 32)
    /// Credentials that authenticate the connection.
    static let connectionAuthentication = NotedFields(rawValue: 64)
    static let proxyAuthorization = NotedFields(rawValue: 128)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Classifies a field name. The length decides first, so that most names cost one comparison at most.
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
      case 19 where name.spells("proxy-authorization"): self = .proxyAuthorization
      default: self = []
      }
    }
  }

  /// Room for the fields of most requests: the largest that malloc keeps for the next one to ask for it.
  package static let usualSize = 960

  package init(reservingBytes count: Int = 0) {
    bytes.reserveCapacity(count)
  }

  /// Whether there is an Accept field.
  package var hasAccept: Bool { noted.contains(.accept) }

  /// Adds a field, unless it is a framing field. A value without visible bytes is sent as an empty field.
  ///
  /// - Parameter isChecked: Whether it is known that the name is a token and the value field content (RFC 9110 §5.5).
  package mutating func append(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, isChecked: Bool = false) {
    guard isChecked || !name.isEmpty && Self.isSendable(name: name) && Self.isSendable(value: value) else {
      defect = defect ?? "a header line has no name, or contains a line end or a zero byte"
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
    let start = bytes.count
    count += 1
    if value.first ?? 32 <= 32, value.allSatisfy(\.isBlank) {
      bytes.append(field: name, ":", UnsafeRawBufferPointer(start: nil, count: 0), "\r\n")
    } else {
      bytes.append(field: name, ": ", value, "\r\n")
    }
    if kind == .host { hostLine = start..<bytes.count }
  }

  /// The present end, to which the block can be cut once fields were added that go again.
  package struct Mark {
    fileprivate let bytes: Int
    fileprivate let count: Int
    fileprivate let noted: NotedFields
  }

  package var mark: Mark { Mark(bytes: bytes.count, count: count, noted: noted) }

  /// Removes the fields behind the mark, none of which may be Host.
  package mutating func cut(to mark: Mark) {
    bytes.removeSubrange(mark.bytes...)
    (count, noted) = (mark.count, mark.noted)
  }

  /// Adds all fields of another block.
  package mutating func append(contentsOf other: HeaderBlock) {
    let offset = bytes.count
    bytes.append(contentsOf: other.bytes)
    count += other.count
    if noted.contains(.host), other.noted.contains(.host) { defect = defect ?? Self.secondHost }
    if !other.hostLine.isEmpty {
      hostLine = other.hostLine.lowerBound + offset..<other.hostLine.upperBound + offset
    }
    noted.formUnion(other.noted)
    if let wrong = other.defect { defect = defect ?? wrong }
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

  /// The fields without those of a name, which is in lower case.
  package func leavingOut(_ name: StaticString) -> HeaderBlock {
    var block = HeaderBlock(reservingBytes: Self.usualSize)
    forEach { if !$0.spells(name) { block.append(name: $0, value: $1) } }
    return block
  }

  /// Calls `body` with name and value of each field.
  package func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    forEachLine { line, _ in
      guard let mark = line.firstIndex(of: .colon) else { return }
      body(line.octets(0..<mark), line.octets(min(mark + 2, line.count)..<line.count))
    }
  }

  /// Calls `body` with each line without its end, and the line's offset in `bytes`.
  func forEachLine(_ body: (_ line: UnsafeRawBufferPointer, _ start: Int) -> Void) {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      while let end = bytes.firstIndex(of: .lineFeed, in: start..<bytes.count) {
        body(bytes.octets(start..<end - 1), start)
        start = end + 1
      }
    }
  }

  private static let secondHost = "the request has two Host fields; only one is allowed"

  /// Why a Host field can't be sent; nil if it can. There must be only one, with a host and possibly a port (RFC 9110
  /// §7.2).
  private func defect(ofHost value: UnsafeRawBufferPointer) -> String? {
    if noted.contains(.host) { return Self.secondHost }
    let isHost = !value.isEmpty && value.allSatisfy { $0 > 32 && $0 != 127 && !Self.notInHost.contains($0) }
    return isHost ? nil : "the Host field is not a host, with or without a port"
  }

  /// Characters that end a host or separate several. With them, a server might use either part.
  private static let notInHost = Array(#",/?#@\"<>"#.utf8)

  /// The check has no early exit, so that the optimizer can turn it into few instructions.
  private static func isSendable(name: UnsafeRawBufferPointer) -> Bool {
    var bad: UInt8 = 0
    for byte in name { bad |= byte <= 32 || byte == 127 || byte == 58 || byte == 59 ? 1 : 0 }  // colon, semicolon
    return bad == 0
  }

  private static func isSendable(value: UnsafeRawBufferPointer) -> Bool { !value.hasBreak(in: 0..<value.count) }
}

/// Request header lines, shared by any number of transfers. Confined to one loop.
///
/// Only the listed fields are sent, besides Host, Content-Length, Transfer-Encoding, and a proxy's own credential.
/// libcurl's own Accept, Content-Type and Expect are suppressed.
package final class PreparedHeaders {
  package let block: HeaderBlock
  /// The lines as libcurl's engine takes them, made when that engine first needs them.
  private var made: CurlHeaderList?

  package init(_ block: HeaderBlock) {
    self.block = block
  }

  package var expectsContinue: Bool { block.noted.contains(.expect) }
  /// Whether the lines hold an Authorization field, or one for a proxy.
  package func hasCredential(forProxy: Bool) -> Bool {
    block.noted.contains(forProxy ? .proxyAuthorization : .authorization)
  }
  /// Whether the lines hold credentials that authenticate the connection.
  package var authenticatesConnection: Bool { block.noted.contains(.connectionAuthentication) }

  var list: UnsafeMutablePointer<curl_slist>? {
    if let made { return made.first }
    let list = CurlHeaderList(block)
    made = list
    return list.first
  }
}

/// A list of header lines in libcurl's terms, which libcurl only reads.
private final class CurlHeaderList {
  let first: UnsafeMutablePointer<curl_slist>?
  /// The list's nodes, followed by their lines, in one piece of memory.
  private let memory: UnsafeMutableRawPointer

  init(_ block: HeaderBlock) {
    let count = block.count + Self.defaults.count
    memory = UnsafeMutableRawPointer.allocate(
      byteCount: count * MemoryLayout<curl_slist>.stride + block.bytes.count,
      alignment: MemoryLayout<curl_slist>.alignment)
    let nodes = memory.bindMemory(to: curl_slist.self, capacity: count)
    let text = UnsafeMutableRawPointer(nodes + count).bindMemory(to: CChar.self, capacity: block.bytes.count)
    block.bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: text, count: $0.count).copyMemory(from: $0) }
    var used = 0
    func add(_ line: UnsafeMutablePointer<CChar>) {
      (nodes + used).initialize(to: curl_slist(data: line, next: nodes + used + 1))
      used += 1
    }
    block.forEachLine { line, start in
      let end = start + line.count
      text[end] = 0
      // libcurl reads "Name:" as a field to leave out, and "Name;" as an empty field.
      if line.firstIndex(of: .colon) == line.count - 1 { text[end - 1] = CChar(UInt8(ascii: ";")) }
      add(text + start)
    }
    for (field, line) in Self.defaults where !block.noted.contains(field) { add(Self.pointer(to: line)) }
    if used > 0 { nodes[used - 1].next = nil }
    first = used == 0 ? nil : nodes
  }

  deinit {
    memory.deallocate()
  }

  /// Fields that libcurl would add of its own accord, and the lines that prevent that.
  private static let defaults: [(field: HeaderBlock.NotedFields, line: StaticString)] = [
    (.accept, "Accept:"), (.contentType, "Content-Type:"), (.expect, "Expect:"),
  ]

  /// A static string's bytes, which end with a zero byte.
  private static func pointer(to line: StaticString) -> UnsafeMutablePointer<CChar> {
    UnsafeMutableRawPointer(mutating: line.utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
