/// Reads the fields of a message of Protocol Buffers, from anybody: it ends at the first octet that can't be.
struct ProtobufReader {
  /// A field's value, of the types that responses have.
  enum Value {
    case varint(UInt64)
    /// Bytes, a string, a message or packed values.
    case delimited(ArraySlice<UInt8>)
    /// A number of fixed size, which no known field has.
    case fixed
  }

  private var rest: ArraySlice<UInt8>
  /// Whether something was read that is no message.
  private(set) var isBroken = false

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// The next field; nil at the end, and where the message breaks off.
  mutating func next() -> (number: UInt64, value: Value)? {
    guard !rest.isEmpty, !isBroken else { return nil }
    guard let key = varint(), key >> 3 != 0, let value = value(ofType: key & 7) else {
      isBroken = true
      return nil
    }
    return (key >> 3, value)
  }

  /// Groups (3 and 4), which could nest, are in no message of OTLP.
  private mutating func value(ofType type: UInt64) -> Value? {
    switch type {
    case 0: varint().map { .varint($0) }
    case 1: take(8).map { _ in .fixed }
    case 2: varint().flatMap { take($0) }.map { .delimited($0) }
    case 5: take(4).map { _ in .fixed }
    default: nil
    }
  }

  private mutating func take(_ count: UInt64) -> ArraySlice<UInt8>? {
    guard count <= rest.count else { return nil }
    let taken = rest.prefix(Int(count))
    rest = rest.dropFirst(Int(count))
    return taken
  }

  /// At most ten octets; nil for more, or if they end before.
  private mutating func varint() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 70, by: 7) {
      guard let octet = rest.popFirst() else { return nil }
      value |= UInt64(octet & 0x7f) << shift
      if octet < 0x80 { return value }
    }
    return nil
  }
}
