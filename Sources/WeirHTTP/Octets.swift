public import Glibc

// Finding, comparing and cutting octets as HTTP does: letters without regard to case, blanks off the ends. Buffers have
// the rules, the other forms pass on to them.

extension UnsafeRawBufferPointer {
  /// The octets of a range of these.
  @inlinable @inline(__always)
  package func octets(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[range])
  }

  /// The place of the first `octet` within `range`.
  @inlinable
  package func firstIndex(of octet: UInt8, in range: Range<Int>) -> Int? {
    guard let base = baseAddress, !range.isEmpty,
      let found = memchr(base + range.lowerBound, CInt(octet), range.count)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Whether the octets spell `text`, which is in lower case, in any case.
  @inlinable @inline(__always)
  package func spells(_ text: StaticString) -> Bool {
    // Most of what is compared differs in its first letter, which is looked at without a call.
    guard count == text.utf8CodeUnitCount, let base = baseAddress,
      base.load(as: UInt8.self).lowercased == text.utf8Start[0]
    else { return false }
    return begins(with: text)
  }

  /// Whether the first octets are `text`.
  @inlinable
  package func starts(with text: StaticString) -> Bool {
    guard let base = baseAddress, count >= text.utf8CodeUnitCount else { return false }
    return memcmp(base, text.utf8Start, text.utf8CodeUnitCount) == 0
  }

  /// Whether the first octets spell `text`, which is in lower case, in any case.
  @inlinable
  package func begins(with text: StaticString) -> Bool {
    guard let base = baseAddress, count >= text.utf8CodeUnitCount else { return false }
    let (octets, letters) = (base.assumingMemoryBound(to: UInt8.self), text.utf8Start)
    // From the end: names of fields differ there rather than at their beginning.
    var index = text.utf8CodeUnitCount - 1
    while index >= 0, octets[index].lowercased == letters[index] { index -= 1 }
    return index < 0
  }

  /// Whether both hold the same octets but for the case of letters.
  @inlinable
  package func equalsIgnoringCase(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index].lowercased != other[index].lowercased { return false }
    return true
  }

  /// `range` without the octets at its ends that `isOuter` names: blanks.
  @inlinable
  package func trimmed(_ range: Range<Int>, of isOuter: (UInt8) -> Bool = { $0.isBlank }) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, isOuter(self[start]) { start += 1 }
    while end > start, isOuter(self[end - 1]) { end -= 1 }
    return start..<end
  }

  /// Without the blanks at the ends.
  @inlinable
  package var trimmed: UnsafeRawBufferPointer { octets(trimmed(0..<count)) }

  /// The number that they spell, which are digits and nothing else; nil for any other octets. Of a number that is too
  /// great, the greatest there is.
  @inlinable
  package var decimal: Int64? {
    guard !isEmpty else { return nil }
    var number: Int64 = 0
    var isTooGreat = false
    for octet in self {
      guard octet.isDigit else { return nil }
      let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
      let (sum, carry) = tens.addingReportingOverflow(Int64(octet & 15))
      isTooGreat = isTooGreat || overflow || carry
      number = sum
    }
    return isTooGreat ? .max : number
  }
}

extension Span<UInt8> {
  /// The place of the first `octet` at or after `start`.
  @inlinable
  package func firstIndex(of octet: UInt8, from start: Int = 0) -> Int? {
    withUnsafeBytes { start < $0.count ? $0.firstIndex(of: octet, in: start..<$0.count) : nil }
  }

  /// Whether the octets spell `text`, which is in lower case, in any case.
  @inlinable
  package func spells(_ text: StaticString) -> Bool { withUnsafeBytes { $0.spells(text) } }

  /// Whether the octets are `text`.
  @inlinable
  package func equals(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return withUnsafeBytes { octets in text.withUTF8Buffer { octets.elementsEqual($0) } }
  }

  @inlinable
  package func equals(_ other: Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index] != other[index] { return false }
    return true
  }

  /// Whether both hold the same octets but for the case of letters.
  @inlinable
  package func equalsIgnoringCase(_ other: Span<UInt8>) -> Bool {
    withUnsafeBytes { octets in other.withUnsafeBytes { octets.equalsIgnoringCase($0) } }
  }

  @inlinable
  package func allSatisfy(_ predicate: (UInt8) -> Bool) -> Bool {
    for index in indices where !predicate(self[index]) { return false }
    return true
  }

  /// `range` without the blanks at its ends.
  @inlinable
  package func trimmed(_ range: Range<Int>) -> Range<Int> { withUnsafeBytes { $0.trimmed(range) } }
}

extension [UInt8] {
  package mutating func append(_ octets: Span<UInt8>) {
    octets.withUnsafeBufferPointer { append(contentsOf: $0) }
  }

  /// Appends `name`, `separator`, `value` and `end` in one step: a header line is made of four pieces, and each step costs
  /// more than most of them.
  @inlinable
  package mutating func append(
    field name: UnsafeRawBufferPointer, _ separator: StaticString, _ value: UnsafeRawBufferPointer, _ end: StaticString
  ) {
    let count = name.count + separator.utf8CodeUnitCount + value.count + end.utf8CodeUnitCount
    append(addingCapacity: count) { output in
      output.withUnsafeMutableBufferPointer { buffer, initialized in
        var rest = UnsafeMutableRawBufferPointer(buffer)
        func copy(_ piece: UnsafeRawBufferPointer) {
          rest.copyMemory(from: piece)
          rest = UnsafeMutableRawBufferPointer(rebasing: rest[piece.count...])
        }
        copy(name)
        copy(UnsafeRawBufferPointer(start: separator.utf8Start, count: separator.utf8CodeUnitCount))
        copy(value)
        copy(UnsafeRawBufferPointer(start: end.utf8Start, count: end.utf8CodeUnitCount))
        initialized = count
      }
    }
  }

  /// Copies the octets in one piece, which the form for any sequence does not.
  @inlinable
  package mutating func append(contentsOf octets: UnsafeRawBufferPointer) {
    octets.withMemoryRebound(to: UInt8.self) { append(contentsOf: $0) }
  }
}

extension String {
  /// Calls `body` with the string's UTF-8, without copying it where it is stored contiguously.
  @inlinable @inline(__always)
  package func withOctets<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
    return Array(utf8).withUnsafeBytes(body)
  }
}
