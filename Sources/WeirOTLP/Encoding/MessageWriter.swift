import WeirMetrics

/// Writes the fields of a message in one of the encodings: a field's number is for protobuf, its name for JSON.
///
/// Each message is described once, by calls of this protocol. All that is asked for is written; the caller leaves out
/// fields that have their default.
protocol MessageWriter: ~Copyable {
  mutating func string(_ number: Int, _ name: StaticString, _ value: String)
  /// A string that is given as UTF-8.
  mutating func string(_ number: Int, _ name: StaticString, utf8 value: UnsafeRawBufferPointer)
  /// The identifier of a span: eight octets.
  mutating func identifier(_ number: Int, _ name: StaticString, _ id: UInt64)
  /// The identifier of a trace: sixteen octets.
  mutating func identifier(_ number: Int, _ name: StaticString, _ high: UInt64, _ low: UInt64)
  mutating func boolean(_ number: Int, _ name: StaticString, _ value: Bool)
  /// A value of an enumeration.
  mutating func choice(_ number: Int, _ name: StaticString, _ value: UInt8)
  mutating func int64(_ number: Int, _ name: StaticString, _ value: Int)
  mutating func sint32(_ number: Int, _ name: StaticString, _ value: Int)
  mutating func fixed32(_ number: Int, _ name: StaticString, _ value: UInt32)
  mutating func fixed64(_ number: Int, _ name: StaticString, _ value: UInt64)
  mutating func double(_ number: Int, _ name: StaticString, _ value: Double)
  /// A repeated field of type `uint64`.
  mutating func uint64s(_ number: Int, _ name: StaticString, _ values: [UInt64])
  /// A repeated field of type `fixed64`.
  mutating func fixed64s(_ number: Int, _ name: StaticString, _ values: [UInt64])
  /// A repeated field of type `double`.
  mutating func doubles(_ number: Int, _ name: StaticString, _ values: [Double])
  /// Begins a field whose value is a message. The fields that follow belong to it, until `close` gets the result.
  mutating func open(_ number: Int, _ name: StaticString) -> Int
  /// Begins a message of a list; `number` is the list's.
  mutating func openElement(_ number: Int) -> Int
  /// Ends the message that was begun last.
  mutating func close(_ beginning: Int)
  /// A repeated field whose values are messages; `body` writes them as elements, and nothing else.
  mutating func list(_ name: StaticString, _ body: (inout Self) -> Void)
}

extension MessageWriter where Self: ~Copyable {
  /// A field whose value is a message, with fields that `body` writes.
  mutating func message(_ number: Int, _ name: StaticString, _ body: (inout Self) -> Void) {
    let beginning = open(number, name)
    body(&self)
    close(beginning)
  }

  /// A message of a list, with fields that `body` writes.
  mutating func element(_ number: Int, _ body: (inout Self) -> Void) {
    let beginning = openElement(number)
    body(&self)
    close(beginning)
  }
}

extension ProtobufWriter: MessageWriter {
  @inline(__always)
  mutating func string(_ number: Int, _ name: StaticString, _ value: String) { string(number, value) }

  mutating func string(_ number: Int, _ name: StaticString, utf8 value: UnsafeRawBufferPointer) {
    bytes(number, value)
  }

  // Octets in the order of the network are a packed field of words in that order.

  @inline(__always)
  mutating func identifier(_ number: Int, _ name: StaticString, _ id: UInt64) {
    delimited(number) { $0.packed(fixed64: id.byteSwapped) }
  }

  @inline(__always)
  mutating func identifier(_ number: Int, _ name: StaticString, _ high: UInt64, _ low: UInt64) {
    delimited(number) { octets in
      octets.packed(fixed64: high.byteSwapped)
      octets.packed(fixed64: low.byteSwapped)
    }
  }

  mutating func boolean(_ number: Int, _ name: StaticString, _ value: Bool) { boolean(number, value) }

  @inline(__always)
  mutating func choice(_ number: Int, _ name: StaticString, _ value: UInt8) { varint(number, UInt64(value)) }

  @inline(__always)
  mutating func int64(_ number: Int, _ name: StaticString, _ value: Int) { varint(number, Int64(value)) }

  mutating func sint32(_ number: Int, _ name: StaticString, _ value: Int) { zigzag(number, Int64(value)) }

  @inline(__always)
  mutating func fixed32(_ number: Int, _ name: StaticString, _ value: UInt32) { fixed32(number, value) }

  @inline(__always)
  mutating func fixed64(_ number: Int, _ name: StaticString, _ value: UInt64) { fixed64(number, value) }

  @inline(__always)
  mutating func double(_ number: Int, _ name: StaticString, _ value: Double) { double(number, value) }

  mutating func uint64s(_ number: Int, _ name: StaticString, _ values: [UInt64]) {
    delimited(number) { for value in values { $0.packed(varint: value) } }
  }

  mutating func fixed64s(_ number: Int, _ name: StaticString, _ values: [UInt64]) {
    delimited(number) { for value in values { $0.packed(fixed64: value) } }
  }

  mutating func doubles(_ number: Int, _ name: StaticString, _ values: [Double]) {
    delimited(number) { for value in values { $0.packed(double: value) } }
  }

  @inline(__always)
  mutating func open(_ number: Int, _ name: StaticString) -> Int { open(number) }

  @inline(__always)
  mutating func openElement(_ number: Int) -> Int { open(number) }

  @inline(__always)
  mutating func list(_ name: StaticString, _ body: (inout ProtobufWriter) -> Void) { body(&self) }
}
