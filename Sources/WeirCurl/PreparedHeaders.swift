internal import CCurl
import WeirHTTP

/// Request header lines, shared by any number of transfers. Confined to one loop.
///
/// Only the listed fields are sent, besides Host, Content-Length, Transfer-Encoding, and a proxy's credential.
/// libcurl's own Accept, Content-Type and Expect are suppressed.
package final class PreparedHeaders {
  package let block: HeaderBlock
  /// The lines as libcurl's engine takes them, made when that engine first needs them.
  private var made: CurlHeaderList?

  package init(_ block: HeaderBlock) {
    self.block = block
  }

  /// - Parameter lines: Lines of the form `Name: value`; a name without a value sends an empty field.
  package convenience init(lines: [String]) {
    var block = HeaderBlock()
    for line in lines { block.append(line: line) }
    self.init(block)
  }

  /// Why the lines can't be sent; a transfer with them fails. Nil if they can.
  package var defect: String? { block.defect }
  package var expectsContinue: Bool { block.noted.contains(.expect) }
  /// Whether the lines hold an Authorization field.
  package var hasAuthorization: Bool { block.noted.contains(.authorization) }
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
