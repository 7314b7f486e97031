/// The urgency of a request (`u` of the field Priority, RFC 9218 §4.1): 0 to 7, the lower the sooner.
package enum Urgency {
  /// The urgency of a request that names none.
  package static let standard = 3

  /// The urgency in the value of a field; nil if it names none. Of several, the last one counts (RFC 8941 §3.2). One out
  /// of the range is ignored (RFC 9218 §4).
  package static func parse(_ value: UnsafeRawBufferPointer) -> Int? {
    value.quotedListElements.reduce(nil as Int?) { found, member in
      guard member.count >= 3, member[0] == UInt8(ascii: "u"), member[1] == .equalsSign else { return found }
      let hasEnd = member.count == 3 || member[3] == .semicolon || member[3] == UInt8(ascii: " ")
      guard hasEnd, (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(member[2]) else { return nil }
      return Int(member[2] - UInt8(ascii: "0"))
    }
  }
}
