import WeirCompression
import WeirHTTP
import WeirServer

/// The facts in a response's head that decide about its content coding.
struct ResponseFacts {
  var status: Int
  var isToHead = false
  /// Whether the client speaks HTTP/1.0.
  var isToHTTP10 = false
  /// Whether the route compresses responses of this type.
  var isOfTypes = false
  /// The codings that the body has, in the order in which they were applied; nil if one of them is unknown.
  var codings: [ContentCoding]? = []
  var hasRange = false
  var forbidsChanges = false
  /// Nil if the framing is contradictory.
  var length: BodyLength? = .chunked
}

extension ResponseFacts {
  static func join(_ left: [ContentCoding]?, _ right: [ContentCoding]?) -> [ContentCoding]? {
    guard let left, let right, left.count + right.count <= ContentCoding.maximumCount else { return nil }
    return left + right
  }

  /// Whether the body could have another coding on its way to the client.
  var mayBeChanged: Bool {
    if isToHTTP10 || isToHead || hasRange || forbidsChanges { return false }
    switch (status, length) {
    case (204, _), (206, _), (304, _), (_, nil), (_, BodyLength.none?), (_, .length(0)?): return false
    default: return status >= 200
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether a value of Cache-Control has `no-transform` (RFC 9111 §5.2.2.6).
  var forbidsChanges: Bool { listElements.contains { $0.spells("no-transform") } }
}
