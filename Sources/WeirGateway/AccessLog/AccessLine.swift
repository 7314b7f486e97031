import WeirHTTP

/// The end of a line that is being written. Its room is reserved in one step, since a step for each of a line's many
/// pieces would cost more than the pieces. What finds no room is left out.
///
/// Every octet of a value that is not visible ASCII, and the backslash, becomes `\xHH`, so that each backslash in a value
/// begins such an escape.
struct AccessLine {
  /// The most octets that a value takes in a line.
  static let longestValue = 2048
  /// The most octets that stand for one.
  static let longestEscape = 5

  private var place: UnsafeMutableRawPointer
  private let end: UnsafeMutableRawPointer

  /// Appends what `write` puts into a line of at most `room` octets.
  static func append(to octets: inout [UInt8], room: Int, _ write: (inout AccessLine) -> Void) {
    octets.append(atMost: room) { place in
      var line = AccessLine(place: place, end: place + room)
      write(&line)
      place = line.place
    }
  }

  /// The most room that a value of so many octets takes, with quotation marks.
  static func room(for octets: Int) -> Int { min(octets * longestEscape, longestValue) + 2 }

  private var room: Int { place.distance(to: end) }

  // MARK: Pieces

  mutating func put(_ octet: UInt8) {
    guard room > 0 else { return }
    place.put(octet)
  }

  @inline(__always) mutating func put(_ octets: UnsafeRawBufferPointer) {
    guard octets.count <= room else { return }
    place.put(octets)
  }

  @inline(__always) mutating func put(_ text: StaticString) {
    put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  mutating func put(_ octets: [UInt8]) { octets.withUnsafeBytes { put($0) } }

  /// Puts a number that is not negative in decimal.
  mutating func put(number: Int64) {
    var power: UInt64 = 10
    var digits = 1
    while power <= number.magnitude, digits < 19 {
      power *= 10
      digits += 1
    }
    put(number: number, digits: digits)
  }

  /// Puts the last digits of a number, at most 19 of them, with zeros in front of it.
  mutating func put(number: Int64, digits: Int) {
    guard digits <= room else { return }
    var rest = number.magnitude
    var index = digits
    while index > 0 {
      index -= 1
      place.storeBytes(of: 0x30 + UInt8(truncatingIfNeeded: rest % 10), toByteOffset: index, as: UInt8.self)
      rest /= 10
    }
    place += digits
  }

  /// Puts seconds with six decimals.
  mutating func put(seconds: Double) {
    let micros = seconds > 0 ? Int64(min(seconds, 1e9) * 1e6) : 0
    put(number: micros / 1_000_000)
    put(UInt8(ascii: "."))
    put(number: micros % 1_000_000, digits: 6)
  }

  // MARK: Values

  /// Puts a value between quotation marks.
  mutating func put(value octets: UnsafeRawBufferPointer, isJSON: Bool) {
    put(.quotationMark)
    put(escaped: octets, isJSON: isJSON)
    put(.quotationMark)
  }

  /// Puts a value. In JSON the backslash of an escape is itself escaped, so that a reader of JSON gets `\xHH`.
  mutating func put(escaped octets: UnsafeRawBufferPointer, isJSON: Bool) {
    if octets.count <= Self.longestValue, octets.allSatisfy(\.isPlainInAccessLog) {
      put(octets)
    } else {
      put(escaping: octets, isJSON: isJSON)
    }
  }

  private mutating func put(escaping octets: UnsafeRawBufferPointer, isJSON: Bool) {
    var left = min(Self.longestValue, room)
    for octet in octets {
      let isQuote = octet == .quotationMark && isJSON
      let length = octet.isPlainInAccessLog ? 1 : isQuote ? 2 : isJSON ? 5 : 4
      guard length <= left else { return }
      left -= length
      if length == 1 {
        put(octet)
      } else if isQuote {
        put(.backslash)
        put(octet)
      } else {
        if isJSON { put(.backslash) }
        put(.backslash)
        put(UInt8(ascii: "x"))
        put((octet >> 4).upperCaseDigit)
        put((octet & 15).upperCaseDigit)
      }
    }
  }
}

extension UInt8 {
  /// Visible ASCII and the space, without quotation mark and backslash.
  @inline(__always) fileprivate var isPlainInAccessLog: Bool {
    self &- 0x20 < 0x5f && self != .quotationMark && self != .backslash
  }

  fileprivate var upperCaseDigit: UInt8 { self < 10 ? self + 0x30 : self + 0x37 }
}
