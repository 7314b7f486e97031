import WeirHTTP

/// The header fields of a request in the order received, stored as ranges of one byte buffer. Names compare without
/// case.
@usableFromInline
package struct HeaderFields: Sendable {
  /// The request line and the fields, as received.
  @usableFromInline var bytes: [UInt8] = []
  @usableFromInline private(set) var places: [Place] = []
  /// Whether a Connection field may name other fields.
  package internal(set) var mayNameFields = true

  @usableFromInline
  struct Place: Sendable {
    @usableFromInline var name: ByteRange
    @usableFromInline var value: ByteRange
  }

  package var count: Int { places.count }

  /// The value of the first field named `name`.
  package subscript(name: String) -> String? {
    bytes.withUnsafeBytes { bytes in
      firstIndex(of: name, in: bytes).map { String(decoding: places[$0].value.slice(of: bytes), as: UTF8.self) }
    }
  }

  package func contains(_ name: String) -> Bool {
    bytes.withUnsafeBytes { firstIndex(of: name, in: $0) != nil }
  }

  /// All values of the fields named `name`, joined by commas (RFC 9110 §5.3); nil if there is no such field.
  package func combined(_ name: String) -> String? {
    var result: String?
    forEachValue(of: name) { value in
      let value = String(decoding: value, as: UTF8.self)
      result = result.map { $0 + ", " + value } ?? value
    }
    return result
  }

  /// Calls `body` with name and value of each field, without surrounding white space. The bytes are valid during the
  /// call.
  @inlinable
  package func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
    bytes.withUnsafeBytes { bytes in
      for place in places { body(place.name.slice(of: bytes), place.value.slice(of: bytes)) }
    }
  }

  /// Calls `body` with each value of the fields named `name`. The bytes are valid during the call.
  package func forEachValue(of name: String, _ body: (UnsafeRawBufferPointer) -> Void) {
    name.withOctets { name in
      forEach { if $0.equalsIgnoringCase(name) { body($1) } }
    }
  }

  mutating func append(name: ByteRange, value: ByteRange) {
    if places.capacity == 0 { places.reserveCapacity(16) }
    places.append(Place(name: name, value: value))
  }

  /// Removes all fields, and keeps the memory unless there is too much of it.
  mutating func reset() {
    bytes.removeAll(keepingCapacity: bytes.capacity <= Self.keptBytes)
    places.removeAll(keepingCapacity: places.capacity <= Self.keptPlaces)
  }

  /// Whether the memory is so large that `reset` would release it.
  var isLarge: Bool { bytes.capacity > Self.keptBytes || places.capacity > Self.keptPlaces }

  /// The capacity that is kept from one head to the next.
  private static let keptBytes = 4096
  private static let keptPlaces = 64

  private func firstIndex(of name: String, in bytes: UnsafeRawBufferPointer) -> Int? {
    name.withOctets { name in
      places.firstIndex { $0.name.count == name.count && $0.name.slice(of: bytes).equalsIgnoringCase(name) }
    }
  }
}

/// A range in a head's buffer.
@usableFromInline
struct ByteRange: Sendable {
  @usableFromInline let first: UInt32
  @usableFromInline let length: UInt32

  static let empty = ByteRange(0..<0)

  /// The numbers fit, since heads are bounded far below 4 GiB (`RequestParser.Limits`).
  init(_ range: Range<Int>) {
    first = UInt32(truncatingIfNeeded: range.lowerBound)
    length = UInt32(truncatingIfNeeded: range.count)
  }

  var count: Int { Int(length) }
  var isEmpty: Bool { length == 0 }

  @inlinable @inline(__always)
  func slice(of bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[Int(first)..<Int(first) + Int(length)])
  }
}
