import WeirHTTP

/// A value that can be written as JSON.
protocol JSONValue {
  func write(to json: inout JSONWriter)
  /// A requirement for speed: the code that `Array` has for all elements knows nothing about their type.
  static func write(_ elements: [Self], to json: inout JSONWriter)
}

extension JSONValue {
  static func write(_ elements: [Self], to json: inout JSONWriter) { json.array(elements) }
}

/// The members of an object in their order. Names are literals, so that none needs an escape.
typealias JSONMembers = KeyValuePairs<StaticString, any JSONValue>

/// A value that is an object.
protocol JSONObject: JSONValue {
  var members: JSONMembers { get }
}

extension JSONObject {
  func write(to json: inout JSONWriter) { json.object(members) }
}

extension Bool: JSONValue {
  func write(to json: inout JSONWriter) { json.literal(self ? "true" : "false") }
}

extension Int: JSONValue {
  func write(to json: inout JSONWriter) { json.value(self) }
}

extension Double: JSONValue {
  func write(to json: inout JSONWriter) { json.value(self) }
}

extension String: JSONValue {
  func write(to json: inout JSONWriter) { json.value(self) }
}

extension Optional: JSONValue where Wrapped: JSONValue {
  func write(to json: inout JSONWriter) {
    if let self { self.write(to: &json) } else { json.literal("null") }
  }
}

extension Array: JSONValue where Element: JSONValue {
  func write(to json: inout JSONWriter) { Element.write(self, to: &json) }
}

/// Writes JSON to bytes, member by member.
struct JSONWriter {
  private(set) var bytes: [UInt8] = []
  /// Whether a value or a member stands before the next one.
  private var needsComma = false

  init(capacity: Int) {
    bytes.reserveCapacity(capacity)
  }

  // MARK: Structure

  mutating func object(_ members: JSONMembers) {
    open(UInt8(ascii: "{"))
    for (name, value) in members {
      separate()
      bytes.append(UInt8(ascii: "\""))
      bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
      bytes.append(contentsOf: "\":".utf8)
      needsComma = false
      value.write(to: &self)
    }
    close(UInt8(ascii: "}"))
  }

  mutating func array(_ elements: [some JSONValue]) {
    open(UInt8(ascii: "["))
    for element in elements { element.write(to: &self) }
    close(UInt8(ascii: "]"))
  }

  private mutating func open(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  @inline(__always)
  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  // MARK: Values

  mutating func value(_ number: Int) {
    separate()
    append(number)
  }

  /// A number with at most six decimals; null if it is none or too large for that.
  mutating func value(_ number: Double) {
    guard abs(number) < 1e12 else { return literal("null") }
    separate()
    var whole = UInt(number.magnitude)
    var millionths = UInt((number.magnitude - Double(whole)) * 1e6 + 0.5)
    if millionths == 1_000_000 { (whole, millionths) = (whole + 1, 0) }
    if number < 0, whole > 0 || millionths > 0 { bytes.append(UInt8(ascii: "-")) }
    append(whole)
    appendFraction(millionths)
  }

  /// A moment as text, in seconds since 1970.
  mutating func value(time seconds: Double) {
    separate()
    bytes.append(UInt8(ascii: "\""))
    Timestamp(seconds: seconds).append(to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func value(_ text: String) {
    separate()
    JSONText.append(text, in: .page, to: &bytes)
  }

  mutating func literal(_ text: StaticString) {
    separate()
    bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  private mutating func append(_ number: Int) {
    if number < 0 { bytes.append(UInt8(ascii: "-")) }
    append(number.magnitude)
  }

  private mutating func append(_ number: UInt) {
    // Most numbers of a report are small.
    guard number > 9 else { return bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number)) }
    append(number / 10)
    bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }

  /// Six digits, without the zeros at their end.
  private mutating func appendFraction(_ millionths: UInt) {
    guard millionths > 0 else { return }
    bytes.append(UInt8(ascii: "."))
    var rest = millionths
    while rest > 0 {
      rest *= 10
      bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / 1_000_000))
      rest %= 1_000_000
    }
  }
}
