import CZlib
import WeirHTTP

/// The decoder for a body's Content-Encoding: one inflater per coding, the last applied first.
///
/// Used like an `Inflater`. The limits apply to the body as a whole and to every stage of it: relative to the bytes
/// received from the wire, no coding may expand further than the body is allowed to. Not thread-safe.
package final class ContentDecoder {
  /// In the order in which bytes pass through them: the coding named last in the header comes first.
  private let stages: [Inflater]
  private let last: Inflater

  /// - Returns: nil when there is nothing to decode: no coding but `identity`, or one that is unknown. The body then
  ///   passes through unchanged.
  package convenience init?(
    contentEncoding: String, limits: DecodeLimits
  ) throws(CompressionError) {
    guard let codings = contentEncoding.withOctets({ ContentCoding.list($0) }) else { return nil }
    try self.init(codings, limits: limits)
  }

  /// - Parameter codings: In the order in which they were applied. The result is nil if there are none.
  package init?(_ codings: [ContentCoding], limits: DecodeLimits) throws(CompressionError) {
    var stages: [Inflater] = []
    for coding in codings.reversed() {
      stages.append(try Inflater(coding, limits: limits, upstream: stages.last))
    }
    guard let last = stages.last else { return nil }
    self.stages = stages
    self.last = last
  }

  /// Bytes of the encoded body taken so far.
  package var received: Int64 { stages.first?.received ?? 0 }

  /// Whether `step` has work to do without further input.
  package var hasPending: Bool { stages.contains { $0.hasPending } }

  /// Like `Inflater.feed`. The budget covers the work of all stages.
  @discardableResult
  package func feed(
    _ input: UnsafeRawBufferPointer, budget: Int = .max, into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) -> Bool {
    guard let first = stages.first, first !== last else {
      return try last.feed(input, budget: budget, into: sink)
    }
    first.enqueue(input)
    return try step(budget: budget, into: sink)
  }

  /// Like `Inflater.step`. The budget covers the work of all stages.
  @discardableResult
  package func step(
    budget: Int = .max, into sink: (UnsafeRawBufferPointer) -> Void
  ) throws(CompressionError) -> Bool {
    var left = Int64(max(1, budget))
    // Draining from the end limits the bytes that wait between two stages to one slice.
    while left > 0, let index = stages.lastIndex(where: { $0.hasPending }) {
      let stage = stages[index]
      let before = max(stage.received, stage.decoded)
      let slice = Int(min(left, Int64(Inflater.maximumSlice)))
      if stage === last {
        try stage.step(budget: slice, into: sink)
      } else {
        let next = stages[index + 1]
        try stage.step(budget: slice) { next.enqueue($0) }
      }
      left -= max(1, max(stage.received, stage.decoded) - before)
    }
    return hasPending
  }

  /// Like `Inflater.finish`, for every stage.
  package func finish() throws(CompressionError) {
    for stage in stages { try stage.finish() }
  }
}

/// A content coding (RFC 9110 §8.4.1).
package enum ContentCoding: Hashable, Sendable {
  /// RFC 1952, one or more members. Bytes after a whole member that do not begin another are ignored, as gzip(1)
  /// and browsers do; bytes that do begin one (1F 8B) must make up a whole member. It is written without time and name.
  case gzip
  /// RFC 1950 (zlib), and raw (RFC 1951) as some servers send it. The first two bytes decide: a raw stream cannot look
  /// like a zlib header unless its encoder sets padding bits. Bytes after the end are ignored. It is written as zlib.
  case deflate

  /// How many codings one body may have: more than are in use, and a limit on the work that a forged header can cause.
  package static let maximumCount = 4

  /// The coding in zlib's terms.
  var windowBits: Int32 {
    switch self {
    case .gzip: 16 + MAX_WBITS
    case .deflate: MAX_WBITS
    }
  }

  /// The codings that a Content-Encoding value names, in the order they were applied, without `identity`.
  ///
  /// Names are compared without regard to case, `x-gzip` is `gzip`, and empty list elements are skipped (§5.6.1).
  /// - Returns: nil if one is unknown or there are more than `maximumCount`; the body is then left unchanged.
  package static func list(_ value: UnsafeRawBufferPointer) -> [ContentCoding]? {
    var codings: [ContentCoding] = []
    for name in value.listElements {
      if name.isEmpty || name.spells("identity") { continue }
      if name.spells("gzip") || name.spells("x-gzip") {
        codings.append(.gzip)
      } else if name.spells("deflate") {
        codings.append(.deflate)
      } else {
        return nil
      }
    }
    return codings.count <= maximumCount ? codings : nil
  }
}
