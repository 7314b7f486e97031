import WeirHTTP

/// The fields of a response whose content coding changes, or might have changed, on its way to the client.
struct RecodedResponse<Head: FieldSource>: FieldSource {
  let head: Head
  let treatment: ResponseTreatment

  private typealias Body = (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void

  var mayNameFields: Bool { head.mayNameFields }

  func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    var varies = false
    head.forEach { name, value in
      if name.count == 4, name.spells("vary") {
        varies = varies || value.listElements.contains { $0.spells("accept-encoding") || $0.spells("*") }
      } else if treatment.work != .none {
        if name.count == 4, name.spells("etag") { return Self.weaken(name, value, body) }
        if name.isBoundToCoding || name.count == 13 && name.spells("accept-ranges") { return }
      }
      body(name, value)
    }
    if treatment.work == .gzip { Self.add("Content-Encoding", "gzip", body) }
    if treatment.varies, !varies { Self.add("Vary", "Accept-Encoding", body) }
  }

  /// A strong ETag names the very octets (RFC 9110 §8.8.1), which are others now. One that breaks the grammar is left
  /// out.
  private static func weaken(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ body: Body) {
    if value.starts(with: "W/") { return body(name, value) }
    guard value.first == .quotationMark else { return }
    (Array("W/".utf8) + Array(value)).withUnsafeBytes { body(name, $0) }
  }

  private static func add(_ name: StaticString, _ value: StaticString, _ body: Body) {
    body(
      UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount),
      UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount))
  }
}

/// The fields of a request whose body is decoded on its way to the upstream.
struct DecodedRequest<Head: FieldSource>: FieldSource {
  let head: Head

  var mayNameFields: Bool { head.mayNameFields }

  func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    head.forEach { if !$0.isBoundToCoding { body($0, $1) } }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether a field of this name, or of one that reads alike, holds for the octets of a body in its coding, and so for
  /// no other ones: the coding and digests (RFC 1864, RFC 3230, RFC 9530).
  fileprivate var isBoundToCoding: Bool {
    switch count {
    case 6: spells("digest")
    case 11: isNameForCGI("content-md5") || isNameForCGI("repr-digest")
    case 14: isNameForCGI("content-digest")
    case 16: isNameForCGI("content-encoding")
    default: false
    }
  }
}
