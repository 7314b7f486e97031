import Foundation

/// The text of a single parameter of unknown type.
enum ScalarText {
  /// Booleans by the encoding, integral numbers without fraction, everything else by its description.
  static func text(_ value: Any, bool encoding: URLEncoding.BoolEncoding) -> String {
    if let text = value as? String { return text }
    if let decimal = value as? Decimal { return decimal.description }
    guard let number = value as? NSNumber else { return "\(value)" }
    // Casts to Bool succeed for any NSNumber of 0 or 1 on Linux; the Objective-C type tells, being "c" for booleans
    // only (small integers are "i" there).
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "c"): return encoding.encode(number.boolValue)
    case UInt8(ascii: "d"): return text(number.doubleValue)
    case UInt8(ascii: "f"): return text(number.floatValue)
    default: return number.description
    }
  }

  /// `1` for 1.0, as on Apple systems, where such a value prints as an NSNumber; `1.1` for 1.1.
  private static func text(_ value: some BinaryFloatingPoint & LosslessStringConvertible) -> String {
    Int64(exactly: value)?.description ?? value.description
  }
}
