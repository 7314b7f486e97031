import WeirCompression
import WeirHTTP
import WeirServer

/// The facts in an upstream's response about its framing, and the gateway's own framing of it (RFC 9112 §6.3); and
/// whether it streams by its type.
struct Reframing: Equatable {
  private(set) var length: Int64?
  private(set) var hasTransferCoding = false
  /// Whether Content-Length is no number, or has several values that differ. A client that believes the wrong one takes
  /// a part of this body for the next response.
  private(set) var isContradictory = false
  /// Whether the body's type, the first that is given, is `text/event-stream`.
  private(set) var isEventStream = false
  private var hasType = false

  /// Notes a Content-Type.
  mutating func note(type: UnsafeRawBufferPointer) {
    if hasType { return }
    hasType = true
    var parts = type.parameterParts
    isEventStream = parts.next()?.isEventStream ?? false
  }

  mutating func note(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    switch name.count {
    case 14 where name.spells("content-length"):
      if length == nil, value.count <= 18, let only = value.decimal { return length = only }
      // Repeated fields may have been joined to a list on the way (RFC 9110 §8.6).
      for element in value.listElements { note(length: element.count <= 18 ? element.decimal : nil) }
    case 17 where name.spells("transfer-encoding"): hasTransferCoding = true
    default: break
    }
  }

  private mutating func note(length new: Int64?) {
    guard let new, length == nil || length == new else {
      isContradictory = true
      return
    }
    length = new
  }

  /// The framing towards the client; nil if the response must not be passed on.
  ///
  /// A response to HEAD and a 304 state the length of a body that they don't have.
  func bodyLength(status: Int, isHead: Bool) -> BodyLength? {
    // A transfer coding overrides any Content-Length.
    if hasTransferCoding { return Self.hasNoBody(status, isHead) ? BodyLength.none : .chunked }
    if isContradictory { return nil }
    if status == 204 || status < 200 { return BodyLength.none }
    if let length { return .length(length) }
    return Self.hasNoBody(status, isHead) ? BodyLength.none : .chunked
  }

  static func hasNoBody(_ status: Int, _ isHead: Bool) -> Bool {
    isHead || status == 204 || status == 304 || status < 200
  }
}

extension ResponseFacts {
  init(_ head: some FieldSource, status: Int, isToHead: Bool, isToHTTP10: Bool, _ rules: CompressionRules) {
    self.init(status: status, isToHead: isToHead, isToHTTP10: isToHTTP10)
    var framing = Reframing()
    var hasType = false
    head.forEach { name, value in
      switch name.count {
      case 12 where name.spells("content-type") && !hasType:
        hasType = true
        isOfTypes = rules.compressesResponses && rules.compresses(type: value)
      case 13 where name.spells("content-range"): hasRange = true
      case 13 where name.spells("cache-control"): forbidsChanges = forbidsChanges || value.forbidsChanges
      case 14, 17: framing.note(name, value)
      case 16 where name.spells("content-encoding"): codings = Self.join(codings, ContentCoding.list(value))
      default: break
      }
    }
    length = framing.bodyLength(status: status, isHead: isToHead)
  }
}
