internal import CCurl

/// Request header lines in the form that libcurl takes, built once and shared by any number of transfers. Confined to
/// one loop.
///
/// Only the listed fields are sent, besides Host, Content-Length, Transfer-Encoding, and a proxy's credential.
/// libcurl's own Accept, Content-Type and Expect are suppressed.
package final class PreparedHeaders {
  let list: UnsafeMutablePointer<curl_slist>?
  /// Why the lines can't be sent; a transfer with them fails. Nil if they can.
  let defect: String?
  let expectsContinue: Bool
  /// Whether the lines hold an Authorization field.
  let hasAuthorization: Bool
  /// Whether the lines hold credentials that authenticate the connection.
  let authenticatesConnection: Bool
  /// The list's nodes, followed by their lines, in one piece of memory. libcurl only reads it.
  private let memory: UnsafeMutableRawPointer

  package init(_ block: HeaderBlock) {
    let count = block.count + Self.defaults.count
    let memory = UnsafeMutableRawPointer.allocate(
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
    for start in block.starts { add(text + Int(start)) }
    for index in Self.defaults.indices where !block.noted.contains(Self.defaults[index].field) {
      add(Self.pointer(to: Self.defaults[index].line))
    }
    if used > 0 { nodes[used - 1].next = nil }
    self.memory = memory
    list = used == 0 ? nil : nodes
    defect = block.defect
    expectsContinue = block.noted.contains(.expect)
    hasAuthorization = block.noted.contains(.authorization)
    authenticatesConnection = block.noted.contains(.connectionAuthentication)
  }

  /// - Parameter lines: Lines of the form `Name: value`; a name without a value sends an empty field.
  package convenience init(lines: [String]) {
    var block = HeaderBlock()
    for line in lines { block.append(line: line) }
    self.init(block)
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
