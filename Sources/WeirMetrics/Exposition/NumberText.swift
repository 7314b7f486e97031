/// Numbers in the text of the exposition formats.
enum NumberText {
  private static let pairs: StaticString = """
    0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899
    """

  /// Writes at most 20 digits and returns their number.
  static func write(_ value: UInt64, to start: UnsafeMutableRawPointer) -> Int {
    if value < 10 {
      start.storeBytes(of: UInt8(truncatingIfNeeded: 48 &+ value), as: UInt8.self)
      return 1
    }
    let count = digits(value)
    var end = start + count
    var rest = value
    while rest >= 100 {
      let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 100)
      end -= 2
      put(pair: Int(truncatingIfNeeded: remainder), to: end)
      rest = quotient
    }
    if rest >= 10 {
      put(pair: Int(truncatingIfNeeded: rest), to: end - 2)
    } else {
      (end - 1).storeBytes(of: UInt8(truncatingIfNeeded: 48 &+ rest), as: UInt8.self)
    }
    return count
  }

  /// Writes the shortest text that reads back as the same number, at most 24 bytes, and returns its length.
  static func write(_ value: Double, to start: UnsafeMutableRawPointer) -> Int {
    guard value.isFinite else { return write(value.isNaN ? "NaN" : value > 0 ? "+Inf" : "-Inf", to: start) }
    let magnitude = value.magnitude
    let sign = value < 0 ? 1 : 0
    if sign == 1 { start.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self) }
    // Whole numbers, and decimals of up to 6 places. With fewer than 10^15 units of the last place, no two decimals are
    // the same `Double`, so this text is the shortest.
    if magnitude < 0x1p53, magnitude.rounded(.towardZero) == magnitude {
      return sign + write(UInt64(magnitude), to: start + sign)
    }
    let units = (magnitude * 1e6).rounded()
    if units < 1e15, units / 1e6 == magnitude {
      return sign + write(millionths: UInt64(units), to: start + sign)
    }
    var text = value.description
    return text.withUTF8 { text in
      // The value is a whole number of at least 2^53.
      let count = text.suffix(2).elementsEqual(".0".utf8) ? text.count - 2 : text.count
      start.copyMemory(from: UnsafeRawPointer(text.baseAddress.unsafelyUnwrapped), byteCount: count)
      return count
    }
  }

  /// The form of `le`. It identifies a series, so it must never differ between formats, libraries and versions: it has
  /// the canonical numbers of OpenMetrics, `1.0` and `1e+06`, as Prometheus 3 stores them.
  static func canonical(_ value: Double) -> String {
    guard value.isFinite else { return value.isNaN ? "NaN" : value > 0 ? "+Inf" : "-Inf" }
    let text = value.description
    guard value.magnitude >= 1e6, !text.contains("e") else { return text }
    let sign = value < 0 ? "-" : ""
    let digits = text.drop { $0 == "-" }.prefix { $0 != "." }
    var mantissa = digits + text.drop { $0 != "." }.dropFirst()
    while mantissa.last == "0", mantissa.count > 1 { mantissa.removeLast() }
    let fraction = mantissa.dropFirst()
    let exponent = digits.count - 1
    return sign + mantissa.prefix(1) + (fraction.isEmpty ? "" : "." + fraction) + "e+"
      + (exponent < 10 ? "0" : "") + String(exponent)
  }

  private static func write(millionths: UInt64, to start: UnsafeMutableRawPointer) -> Int {
    let (whole, fraction) = millionths.quotientAndRemainder(dividingBy: 1_000_000)
    let point = write(whole, to: start)
    (start + point).storeBytes(of: UInt8(ascii: "."), as: UInt8.self)
    var rest = Int(truncatingIfNeeded: fraction)
    put(pair: rest % 100, to: start + (point + 5))
    rest /= 100
    put(pair: rest % 100, to: start + (point + 3))
    put(pair: rest / 100, to: start + (point + 1))
    var count = point + 7
    while (start + (count - 1)).load(as: UInt8.self) == UInt8(ascii: "0") { count -= 1 }
    return count
  }

  private static func write(_ text: StaticString, to start: UnsafeMutableRawPointer) -> Int {
    start.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
    return text.utf8CodeUnitCount
  }

  @inline(__always)
  private static func put(pair: Int, to place: UnsafeMutableRawPointer) {
    let digits = UnsafeRawPointer(pairs.utf8Start + pair &* 2).loadUnaligned(as: UInt16.self)
    place.storeBytes(of: digits, as: UInt16.self)
  }

  @inline(__always)
  private static func digits(_ value: UInt64) -> Int {
    var (rest, count) = (value, 1)
    while true {
      if rest < 10 { return count }
      if rest < 100 { return count &+ 1 }
      if rest < 1_000 { return count &+ 2 }
      if rest < 10_000 { return count &+ 3 }
      rest /= 10_000
      count &+= 4
    }
  }
}
