/// How much a client wants something, in thousandths; 0 means not at all (RFC 9110 §12.4.2).
package struct Quality: Hashable, Comparable, Sendable {
  package let thousandths: Int

  static let full = Quality(thousandths: 1000)
  static let none = Quality(thousandths: 0)

  package static func < (left: Quality, right: Quality) -> Bool {
    left.thousandths < right.thousandths
  }
}

extension Quality {
  /// Reads `0`, `0.5`, `1.000`; nil for anything else.
  ///
  /// Digits beyond the third, which the RFC doesn't allow and clients send, are cut off, but never down to 0: that
  /// would turn "hardly" into "never".
  init?(_ text: some Sequence<UInt8>) {
    var digits = text.makeIterator()
    guard let whole = digits.next(), whole == UInt8(ascii: "0") || whole == UInt8(ascii: "1") else { return nil }
    var value = whole == UInt8(ascii: "1") ? 1000 : 0
    var weight = 100
    var cutOff = false
    if let point = digits.next() {
      guard point == UInt8(ascii: ".") else { return nil }
      while let digit = digits.next() {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
        let number = Int(digit - UInt8(ascii: "0"))
        value += number * weight
        if weight == 0 && number > 0 { cutOff = true }
        weight /= 10
      }
    }
    guard value <= 1000, !(value == 1000 && cutOff) else { return nil }
    self.init(thousandths: value == 0 && cutOff ? 1 : value)
  }
}
