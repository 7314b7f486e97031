/// Appends fields of Protocol Buffers to a page (protobuf.dev, "Encoding").
///
/// A page lends it its memory by ``ExpositionPage/withProtobuf(_:)``. Each field that is asked for is written, also
/// with the value that is proto3's default: the caller leaves those out. Fields are numbered as in the message's
/// definition.
///
/// Without `@usableFromInline` at the type, the compiler would inline none of its methods in other modules.
@usableFromInline
package struct ProtobufWriter: ~Copyable {
  /// A field's number and type, or a value of 64 bits, take at most ten octets as a varint.
  @inlinable static var longestVarint: Int { 10 }

  @usableFromInline var start: UnsafeMutableRawPointer
  @usableFromInline var cursor: UnsafeMutableRawPointer
  @usableFromInline var end: UnsafeMutableRawPointer

  /// - Parameter count: The octets that are in the memory already.
  init(_ memory: UnsafeMutableRawPointer, count: Int, capacity: Int) {
    (start, cursor, end) = (memory, memory + count, memory + capacity)
  }

  /// How a field's value is laid out; the low three bits of what stands before it.
  @usableFromInline
  enum WireType: UInt64 {
    case varint = 0
    case fixed64 = 1
    case delimited = 2
    case fixed32 = 5
  }

  // MARK: Fields

  /// A field of type `uint32`, `uint64`, `int32`, `int64`, `bool` or an enumeration; negative numbers as their two's
  /// complement in 64 bits.
  @inlinable @inline(__always)
  package mutating func varint(_ field: Int, _ value: UInt64) {
    var place = room(2 * Self.longestVarint)
    Self.put(tag: field, .varint, at: &place)
    Self.put(value, at: &place)
    cursor = place
  }

  /// A field of type `int32` or `int64`.
  @inlinable @inline(__always)
  package mutating func varint(_ field: Int, _ value: Int64) {
    varint(field, UInt64(bitPattern: value))
  }

  /// A field of type `bool`.
  @inlinable @inline(__always)
  package mutating func boolean(_ field: Int, _ value: Bool) {
    varint(field, value ? 1 : 0 as UInt64)
  }

  /// A field of type `sint32` or `sint64`.
  @inlinable @inline(__always)
  package mutating func zigzag(_ field: Int, _ value: Int64) {
    varint(field, Self.zigzag(value))
  }

  /// A field of type `fixed32`.
  @inlinable @inline(__always)
  package mutating func fixed32(_ field: Int, _ value: UInt32) {
    var place = room(Self.longestVarint + 4)
    Self.put(tag: field, .fixed32, at: &place)
    place.storeBytes(of: value.littleEndian, as: UInt32.self)
    cursor = place + 4
  }

  /// A field of type `fixed64`, or `sfixed64` by its bit pattern.
  @inlinable @inline(__always)
  package mutating func fixed64(_ field: Int, _ value: UInt64) {
    var place = room(Self.longestVarint + 8)
    Self.put(tag: field, .fixed64, at: &place)
    place.storeBytes(of: value.littleEndian, as: UInt64.self)
    cursor = place + 8
  }

  /// A field of type `double`.
  @inlinable @inline(__always)
  package mutating func double(_ field: Int, _ value: Double) {
    fixed64(field, value.bitPattern)
  }

  /// A field of type `bytes`, or `string` if it is UTF-8.
  @inlinable @inline(__always)
  package mutating func bytes(_ field: Int, _ value: UnsafeRawBufferPointer) {
    var place = room(2 * Self.longestVarint + value.count)
    Self.put(tag: field, .delimited, at: &place)
    Self.put(UInt64(truncatingIfNeeded: value.count), at: &place)
    if let source = value.baseAddress { place.copyMemory(from: source, byteCount: value.count) }
    cursor = place + value.count
  }

  /// A field of type `string`.
  @inlinable @inline(__always)
  package mutating func string(_ field: Int, _ value: String) {
    let written: Void? = value.utf8.withContiguousStorageIfAvailable { bytes(field, UnsafeRawBufferPointer($0)) }
    if written == nil { scattered(field, value) }
  }

  /// A string whose octets are not in one place, which Swift's own always are.
  @usableFromInline @inline(never)
  mutating func scattered(_ field: Int, _ value: String) {
    Array(value.utf8).withUnsafeBytes { bytes(field, $0) }
  }

  /// A field of a message's type, whose fields `body` writes, or of a packed type, whose values it writes.
  @inlinable @inline(__always)
  package mutating func delimited(_ field: Int, _ body: (inout ProtobufWriter) -> Void) {
    let beginning = open(field)
    body(&self)
    close(beginning)
  }

  /// Begins a field like ``delimited(_:_:)``, for code that a call per message would cost too much. The fields that
  /// follow belong to it, until ``close(_:)`` is called with the result.
  ///
  /// The length comes before a body that is not yet there. One octet is kept for it, and a body of 128 octets or more
  /// is moved once it is complete: that costs less than a buffer of its own, or a pass that computes lengths.
  @inlinable @inline(__always)
  package mutating func open(_ field: Int) -> Int {
    var place = room(Self.longestVarint + 1)
    Self.put(tag: field, .delimited, at: &place)
    cursor = place + 1
    return cursor - start
  }

  /// Ends the field that ``open(_:)`` began last.
  @inlinable @inline(__always)
  package mutating func close(_ beginning: Int) {
    let length = cursor - start &- beginning
    if length < 0x80 {
      (start + (beginning &- 1)).storeBytes(of: UInt8(truncatingIfNeeded: length), as: UInt8.self)
    } else {
      makeRoom(forLengthOf: length, kept: 1)
    }
  }

  /// Writes a message whose length is roughly known: as a field, or without a number with its length before it.
  ///
  /// As many octets are kept for the length as one of about `length` takes. Only if that was wrong, the body is moved.
  @inlinable @inline(__always)
  package mutating func delimited(_ field: Int?, about length: Int, _ body: (inout ProtobufWriter) -> Void) {
    let kept = Self.octets(of: length)
    var place = room(2 * Self.longestVarint)
    if let field { Self.put(tag: field, .delimited, at: &place) }
    cursor = place + kept
    let beginning = cursor - start
    body(&self)
    let length = cursor - start &- beginning
    if Self.octets(of: length) == kept {
      place = start + (beginning &- kept)
      Self.put(UInt64(truncatingIfNeeded: length), at: &place)
    } else {
      makeRoom(forLengthOf: length, kept: kept)
    }
  }

  // MARK: Values of packed fields, without a number

  /// A value of a packed field of the types of ``varint(_:_:)-(Int,UInt64)``.
  @inlinable @inline(__always)
  package mutating func packed(varint value: UInt64) {
    var place = room(Self.longestVarint)
    Self.put(value, at: &place)
    cursor = place
  }

  /// A value of a packed field of type `sint32` or `sint64`.
  @inlinable @inline(__always)
  package mutating func packed(zigzag value: Int64) {
    packed(varint: Self.zigzag(value))
  }

  /// A value of a packed field of type `fixed64`.
  @inlinable @inline(__always)
  package mutating func packed(fixed64 value: UInt64) {
    let place = room(8)
    place.storeBytes(of: value.littleEndian, as: UInt64.self)
    cursor = place + 8
  }

  /// A value of a packed field of type `double`.
  @inlinable @inline(__always)
  package mutating func packed(double value: Double) {
    packed(fixed64: value.bitPattern)
  }

  // MARK: Memory that is there

  /// Numbers near zero, of either sign, become small ones: 0, -1, 1, -2 … are 0, 1, 2, 3 ….
  @inlinable @inline(__always)
  static func zigzag(_ value: Int64) -> UInt64 {
    UInt64(bitPattern: (value << 1) ^ (value >> 63))
  }

  // Values are put at a place that is no property: otherwise the place would be read anew after each octet.

  @inlinable @inline(__always)
  static func put(tag field: Int, _ type: WireType, at place: inout UnsafeMutableRawPointer) {
    put(UInt64(truncatingIfNeeded: field) << 3 | type.rawValue, at: &place)
  }

  /// Seven bits per octet, the lowest first; all but the last have the high bit.
  @inlinable @inline(__always)
  static func put(_ varint: UInt64, at place: inout UnsafeMutableRawPointer) {
    var rest = varint
    while rest >= 0x80 {
      place.storeBytes(of: UInt8(truncatingIfNeeded: rest | 0x80), as: UInt8.self)
      place += 1
      rest >>= 7
    }
    place.storeBytes(of: UInt8(truncatingIfNeeded: rest), as: UInt8.self)
    place += 1
  }

  /// The place of the next octet, with so many free ones behind it.
  @inlinable @inline(__always)
  mutating func room(_ count: Int) -> UnsafeMutableRawPointer {
    if end - cursor < count { grow(count) }
    return cursor
  }

  /// The octets that a length takes as a varint.
  @inlinable @inline(__always)
  static func octets(of length: Int) -> Int {
    (UInt64.bitWidth &- (length | 1).leadingZeroBitCount &+ 6) / 7
  }

  /// Puts the length before the last `length` octets, which follow those that are kept for it: other than it takes.
  @usableFromInline
  mutating func makeRoom(forLengthOf length: Int, kept: Int) {
    var place = room(Self.longestVarint) - length - kept
    (place + Self.octets(of: length)).copyMemory(from: place + kept, byteCount: length)
    Self.put(UInt64(truncatingIfNeeded: length), at: &place)
    cursor = place + length
  }

  @usableFromInline @inline(never)
  mutating func grow(_ room: Int) {
    let count = cursor - start
    let capacity = max((end - start) * 2, count + room)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    larger.copyMemory(from: start, byteCount: count)
    start.deallocate()
    (start, cursor, end) = (larger, larger + count, larger + capacity)
  }
}

extension ExpositionPage {
  /// Lends the page's memory to a writer, which appends to the page.
  package mutating func withProtobuf(_ write: (inout ProtobufWriter) -> Void) {
    var writer = ProtobufWriter(memory, count: count, capacity: capacity)
    write(&writer)
    (memory, count, capacity) = (writer.start, writer.cursor - writer.start, writer.end - writer.start)
  }
}
