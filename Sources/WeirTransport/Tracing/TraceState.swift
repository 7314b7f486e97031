import WeirHTTP

/// The list in the fields `tracestate` of a request (W3C Trace Context §3.3). Several fields are one list.
package struct TraceState {
  /// A longer list is left out.
  package static let longest = 512
  private static let mostMembers = 32

  private var list: [UInt8] = []
  private var keys: [[UInt8]] = []
  private var isMalformed = false

  package init() {}

  /// The list; nil without a member, if any field is malformed, or if the list is too long.
  package var text: String? {
    isMalformed || list.isEmpty || list.count > Self.longest ? nil : String(decoding: list, as: UTF8.self)
  }

  /// Adds a field's value.
  package mutating func add(_ value: UnsafeRawBufferPointer) {
    // A comma belongs to no key and no value.
    for member in value.split(separator: UInt8.comma) {
      let member = UnsafeRawBufferPointer(rebasing: member).trimmed
      // Members may be empty.
      if member.isEmpty { continue }
      guard !isMalformed, keys.count < Self.mostMembers, list.count <= Self.longest,
        let equals = member.firstIndex(of: .equalsSign, in: 0..<member.count),
        Self.isKey(member.octets(0..<equals)), Self.isValue(member.octets(equals + 1..<member.count)),
        !keys.contains(where: { $0.elementsEqual(member[..<equals]) })
      else {
        isMalformed = true
        return
      }
      keys.append(Array(member[..<equals]))
      if !list.isEmpty { list.append(.comma) }
      list.append(contentsOf: member)
    }
  }

  /// `vendor`, or `tenant@vendor`.
  private static func isKey(_ key: UnsafeRawBufferPointer) -> Bool {
    let at = UInt8(ascii: "@")
    guard let place = key.firstIndex(of: at, in: 0..<key.count) else {
      return isPart(key, longest: 256, mayBeginWithDigit: false)
    }
    return isPart(key.octets(0..<place), longest: 241, mayBeginWithDigit: true)
      && isPart(key.octets(place + 1..<key.count), longest: 14, mayBeginWithDigit: false)
  }

  private static func isPart(_ part: UnsafeRawBufferPointer, longest: Int, mayBeginWithDigit: Bool) -> Bool {
    guard let first = part.first, part.count <= longest, isLetter(first) || mayBeginWithDigit && first.isDigit else {
      return false
    }
    return part.allSatisfy { isLetter($0) || $0.isDigit || [0x5f, 0x2d, 0x2a, 0x2f].contains($0) }
  }

  private static func isLetter(_ octet: UInt8) -> Bool { octet &- 0x61 < 26 }

  /// Visible ASCII and blanks within, up to 256.
  private static func isValue(_ value: UnsafeRawBufferPointer) -> Bool {
    (1...256).contains(value.count) && value.allSatisfy { $0 >= 0x20 && $0 < 0x7f && $0 != .equalsSign }
  }
}
