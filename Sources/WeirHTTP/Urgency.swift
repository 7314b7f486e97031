/// The urgency of a request (`u` of the field Priority, RFC 9218 §4.1): 0 to 7, the lower the sooner.
package enum Urgency {
  /// The urgency of a request that names none.
  package static let standard = 3

  /// The urgency in the value of a field; nil if it names none. Of several, the last one counts (RFC 8941 §3.2). An
  /// urgency that is not a number, or out of the range, counts as the standard (RFC 9218 §4).
  package static func parse(_ value: UnsafeRawBufferPointer) -> Int? {
    value.quotedListElements.reduce(nil as Int?) { found, member in
      guard member.first == UInt8(ascii: "u"), member.count == 1 || !isKey(member[1]) else { return found }
      let hasEnd = member.count == 3 || member.count > 3 && (member[3] == .semicolon || member[3].isBlank)
      guard hasEnd, member[1] == .equalsSign, (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(member[2]) else {
        return standard
      }
      return Int(member[2] - UInt8(ascii: "0"))
    }
  }

  /// Whether the octet can continue a key (RFC 8941 §3.1.2).
  private static func isKey(_ octet: UInt8) -> Bool { octet != .equalsSign && octet != .semicolon && !octet.isBlank }
}
