import WeirHTTP
import WeirServer

/// A match's conditions on method, header fields, query and sender, prepared for requests.
struct MatchConditions: Sendable {
  private let methods: [[UInt8]]
  private let headers: [(name: [UInt8], value: ValueCondition)]
  private let query: [(name: [UInt8], value: ValueCondition)]
  private let clients: ClientNetworks?
  private let listeners: [[UInt8]]
  /// Whether there are none.
  let isEmpty: Bool

  init(_ match: RouteMatch) {
    methods = match.methods.sorted().map { Array($0.utf8) }
    headers = match.headers.map { ($0.key, $0.value) }
    query = match.query.map { ($0.key, $0.value) }
    clients = match.clients
    listeners = match.listeners.sorted().map { Array($0.utf8) }
    isEmpty = methods.isEmpty && headers.isEmpty && query.isEmpty && clients == nil && listeners.isEmpty
  }

  var lookAtQuery: Bool { !query.isEmpty }

  /// - Parameters:
  ///   - fields: The request's fields as it came.
  ///   - query: Empty, or a question mark and what follows it.
  func hold(
    method: Span<UInt8>, fields: some FieldSource, query items: Span<UInt8>, from sender: some RequestSender
  ) -> Bool {
    if !methods.isEmpty, !methods.contains(where: { method.equals($0.span) }) { return false }
    if !listeners.isEmpty, !listeners.contains(sender.listener) { return false }
    if let clients, !clients.contains(sender.client) { return false }
    return headers.allSatisfy { Self.holds($0.value, ofField: $0.name, in: fields) }
      && query.allSatisfy { Self.holds($0.value, ofItem: $0.name, in: items) }
  }

  private static func holds(_ condition: ValueCondition, ofField name: [UInt8], in fields: some FieldSource) -> Bool {
    var isFound = false
    name.withUnsafeBytes { name in
      fields.forEach { if !isFound, $0.equalsIgnoringCase(name) { isFound = condition.accepts($1) } }
    }
    return isFound != (condition == .present(false))
  }

  /// Items are separated by `&`, and their names end at the first `=`. Percent-encoded octets are decoded; a plus sign
  /// stands for itself.
  private static func holds(_ condition: ValueCondition, ofItem name: [UInt8], in query: Span<UInt8>) -> Bool {
    var isFound = false
    var start = 1
    while start < query.count, !isFound {
      let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
      let item = query.extracting(start..<end)
      let mark = item.firstIndex(of: .equalsSign) ?? item.count
      if item.extracting(..<mark).decodes(to: name) {
        isFound = condition.accepts(item: item.extracting(min(mark + 1, item.count)...))
      }
      start = end + 1
    }
    return isFound != (condition == .present(false))
  }
}

extension ValueCondition {
  /// Whether a value is one that the condition speaks of.
  fileprivate func accepts(_ value: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .equals(let text): value.elementsEqual(text)
    case .prefix(let text): value.starts(with: text)
    case .present: true
    }
  }

  fileprivate func accepts(item value: Span<UInt8>) -> Bool {
    switch self {
    case .equals(let text): value.decodes(to: text)
    case .prefix(let text): value.decodes(to: text, isPrefix: true)
    case .present: true
    }
  }
}

extension Span<UInt8> {
  /// Whether these octets are `text` once percent-encoding is decoded. A percent sign without two hexadecimal digits
  /// stands for itself.
  fileprivate func decodes(to text: [UInt8], isPrefix: Bool = false) -> Bool {
    var index = 0
    for expected in text {
      guard index < count else { return false }
      var octet = self[index]
      index += 1
      if octet == UInt8(ascii: "%"), index + 1 < count, let high = self[index].hexValue,
        let low = self[index + 1].hexValue
      {
        octet = high << 4 | low
        index += 2
      }
      if octet != expected { return false }
    }
    return isPrefix || index == count
  }
}

/// A request or a response whose header fields can be visited one by one.
protocol FieldSource {
  /// Whether a Connection field may name other fields.
  var mayNameFields: Bool { get }
  /// Calls `body` with name and value of each field, in order. The bytes are valid during the call.
  func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void)
  /// Does the same. `plain` is the field's whole line if it is one that could have been written here, and is empty otherwise.
  func forEachLine(
    _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ plain: UnsafeRawBufferPointer) -> Void)
}

extension FieldSource {
  func forEachLine(
    _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ plain: UnsafeRawBufferPointer) -> Void
  ) {
    forEach { body($0, $1, UnsafeRawBufferPointer(start: nil, count: 0)) }
  }
}

extension HeaderFields: FieldSource {}

/// The facts about a request's sender that routes may look at.
protocol RequestSender {
  /// The name of the listener by which the request came.
  var listener: [UInt8] { get }
  var client: ClientAddress { get }
  /// Whether that listener is a forward proxy.
  var isForwardProxy: Bool { get }
}

/// A sender that no condition holds for, but those that name none.
struct UnknownSender: RequestSender {
  var listener: [UInt8] { [] }
  var client: ClientAddress { .unix }
  var isForwardProxy: Bool { false }
}
