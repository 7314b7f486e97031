import WeirMetrics

/// A message as JSON, by the rules of OTLP: proto3's mapping, but with identifiers in hexadecimal and enumerations as
/// numbers.
struct JSONMessage: MessageWriter {
  private(set) var bytes: [UInt8] = []
  /// Whether a member or an element stands before the next one.
  private var needsComma = false

  /// Writes the object that is the message.
  init(_ body: (inout JSONMessage) -> Void) {
    let beginning = openElement(0)
    body(&self)
    close(beginning)
  }

  // MARK: Structure

  mutating func open(_ number: Int, _ name: StaticString) -> Int {
    member(name)
    needsComma = false
    return openElement(number)
  }

  mutating func openElement(_ number: Int) -> Int {
    separate()
    put("{")
    needsComma = false
    return 0
  }

  mutating func close(_ beginning: Int) {
    put("}")
    needsComma = true
  }

  mutating func list(_ name: StaticString, _ body: (inout JSONMessage) -> Void) {
    member(name)
    put("[")
    needsComma = false
    body(&self)
    put("]")
    needsComma = true
  }

  private mutating func member(_ name: StaticString) {
    separate()
    put("\"")
    put(name)
    put("\":")
  }

  private mutating func separate() {
    if needsComma { put(",") }
    needsComma = true
  }

  private mutating func put(_ text: StaticString) { text.withUTF8Buffer { bytes.append(contentsOf: $0) } }

  // MARK: Values

  mutating func string(_ number: Int, _ name: StaticString, _ value: String) {
    value.withLabelBytes { string(number, name, utf8: $0) }
  }

  mutating func string(_ number: Int, _ name: StaticString, utf8 value: UnsafeRawBufferPointer) {
    member(name)
    put("\"")
    for octet in value { put(escaped: octet) }
    put("\"")
  }

  mutating func identifier(_ number: Int, _ name: StaticString, _ id: UInt64) {
    member(name)
    put("\"")
    put(hexadecimal: id)
    put("\"")
  }

  mutating func identifier(_ number: Int, _ name: StaticString, _ high: UInt64, _ low: UInt64) {
    member(name)
    put("\"")
    put(hexadecimal: high)
    put(hexadecimal: low)
    put("\"")
  }

  mutating func boolean(_ number: Int, _ name: StaticString, _ value: Bool) {
    member(name)
    put(value ? "true" : "false")
  }

  mutating func choice(_ number: Int, _ name: StaticString, _ value: UInt8) {
    fixed32(number, name, UInt32(value))
  }

  mutating func sint32(_ number: Int, _ name: StaticString, _ value: Int) {
    member(name)
    bytes.append(contentsOf: value.description.utf8)
  }

  mutating func fixed32(_ number: Int, _ name: StaticString, _ value: UInt32) {
    member(name)
    bytes.append(contentsOf: value.description.utf8)
  }

  // A number of 64 bits is a string, as many readers have only `Double`.

  mutating func int64(_ number: Int, _ name: StaticString, _ value: Int) {
    member(name)
    put(quoted: value)
  }

  mutating func fixed64(_ number: Int, _ name: StaticString, _ value: UInt64) {
    member(name)
    put(quoted: value)
  }

  mutating func double(_ number: Int, _ name: StaticString, _ value: Double) {
    member(name)
    put(value)
  }

  mutating func uint64s(_ number: Int, _ name: StaticString, _ values: [UInt64]) { fixed64s(number, name, values) }

  mutating func fixed64s(_ number: Int, _ name: StaticString, _ values: [UInt64]) {
    list(name) { list in
      for value in values {
        list.separate()
        list.put(quoted: value)
      }
    }
  }

  mutating func doubles(_ number: Int, _ name: StaticString, _ values: [Double]) {
    list(name) { list in
      for value in values {
        list.separate()
        list.put(value)
      }
    }
  }

  private mutating func put(quoted value: some BinaryInteger) {
    put("\"")
    bytes.append(contentsOf: value.description.utf8)
    put("\"")
  }

  private mutating func put(_ value: Double) {
    if value.isFinite {
      bytes.append(contentsOf: value.description.utf8)
    } else {
      put(value.isNaN ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"")
    }
  }

  /// Quotes, backslashes and controls are escaped (RFC 8259 §7); what is beyond ASCII stands for itself.
  private mutating func put(escaped octet: UInt8) {
    switch octet {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"):
      put("\\")
      bytes.append(octet)
    case 0..<0x20, 0x7f:
      put("\\u00")
      put(digit: octet >> 4)
      put(digit: octet)
    default: bytes.append(octet)
    }
  }

  private mutating func put(hexadecimal word: UInt64) {
    for shift in stride(from: 60, through: 0, by: -4) { put(digit: UInt8(truncatingIfNeeded: word >> shift)) }
  }

  /// The low four bits, as a digit in lower case.
  private mutating func put(digit value: UInt8) {
    let value = value & 0xf
    bytes.append(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + (value - 10))
  }
}
