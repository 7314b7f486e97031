#if canImport(Glibc)
  public import Glibc
#elseif canImport(Musl)
  public import Musl
#else
  public import Darwin
#endif

// Search, comparison and trimming of octets by HTTP's rules: the case of letters does not matter, and blanks at the
// ends are dropped. The rules are written for buffers; the other types call them.

extension UnsafeRawBufferPointer {
  /// The octets of this buffer in a range.
  @inlinable @inline(__always)
  package func octets(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[range])
  }

  /// The index of the first `octet` within `range`.
  @inlinable
  package func firstIndex(of octet: UInt8, in range: Range<Int>) -> Int? {
    guard let base = baseAddress, !range.isEmpty,
      let found = memchr(base + range.lowerBound, CInt(octet), range.count)
    else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Whether the octets equal `text`, which is in lower case, ignoring the case of letters.
  @inlinable @inline(__always)
  package func spells(_ text: StaticString) -> Bool {
    // Most texts differ in their first letter, which is compared without a call.
    guard count == text.utf8CodeUnitCount, let base = baseAddress,
      base.load(as: UInt8.self).lowercased == text.utf8Start[0]
    else { return false }
    return begins(with: text)
  }

  /// Whether programs that read fields as environment variables take these octets for the field `name`, which is in lower
  /// case: they differ at most in the case of letters, and in octets that are neither letters nor digits, such as
  /// `X.Forwarded_For` does.
  @inlinable
  package func isNameForCGI(_ name: UnsafeRawBufferPointer) -> Bool {
    guard count == name.count else { return false }
    for index in 0..<count {
      let octet = self[index].lowercased
      guard octet == name[index] || octet.foldedForCGI == name[index].foldedForCGI else { return false }
    }
    return true
  }

  @inlinable
  package func isNameForCGI(_ name: [UInt8]) -> Bool { name.withUnsafeBytes { isNameForCGI($0) } }

  /// - Parameter name: It begins with a letter.
  @inlinable @inline(__always)
  package func isNameForCGI(_ name: StaticString) -> Bool {
    // Most names differ in their first letter, which is compared without a call, and most others are spelled so.
    guard count == name.utf8CodeUnitCount, let base = baseAddress,
      base.load(as: UInt8.self).lowercased == name.utf8Start[0]
    else { return false }
    return begins(with: name) || isNameForCGI(UnsafeRawBufferPointer(start: name.utf8Start, count: count))
  }

  /// Whether a field name has only letters, digits and hyphens, as all names have that have a meaning here.
  @inlinable
  package var isPlainName: Bool {
    hasOnlyLettersAndHyphens || allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
  }

  /// Whether the octets begin with `text`.
  @inlinable
  package func starts(with text: StaticString) -> Bool {
    guard let base = baseAddress, count >= text.utf8CodeUnitCount else { return false }
    return memcmp(base, text.utf8Start, text.utf8CodeUnitCount) == 0
  }

  /// Whether `text` is among the octets: 420 instructions in a text of 38 octets, for which a string's own `contains`, which
  /// compares characters, takes 10,000.
  @inlinable
  package func contains(_ text: StaticString) -> Bool {
    indices.contains { octets($0..<count).starts(with: text) }
  }

  /// Whether both buffers hold the same octets, ignoring the case of letters.
  @inlinable
  package func equalsIgnoringCase(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index].lowercased != other[index].lowercased { return false }
    return true
  }

  /// `range` without the octets at its ends that satisfy `isOuter`; blanks by default.
  @inlinable
  package func trimmed(_ range: Range<Int>, of isOuter: (UInt8) -> Bool = { $0.isBlank }) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, isOuter(self[start]) { start += 1 }
    while end > start, isOuter(self[end - 1]) { end -= 1 }
    return start..<end
  }

  /// The octets without the blanks at both ends.
  @inlinable
  package var trimmed: UnsafeRawBufferPointer { octets(trimmed(0..<count)) }

  /// The number in decimal digits; nil if there are other octets, or none. A number that does not fit is the greatest
  /// Int64.
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
  /// The index of the first `octet` at or after `start`.
  @inlinable
  package func firstIndex(of octet: UInt8, from start: Int = 0) -> Int? {
    withUnsafeBytes { start < $0.count ? $0.firstIndex(of: octet, in: start..<$0.count) : nil }
  }

  /// Whether the octets equal `text`, which is in lower case, ignoring the case of letters.
  @inlinable
  package func spells(_ text: StaticString) -> Bool { withUnsafeBytes { $0.spells(text) } }

  /// Whether the octets equal `text`.
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

  /// Whether both spans hold the same octets, ignoring the case of letters.
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

  /// Appends a line of a head. A folded line continues the line before (RFC 9112 §5.2). It is joined with that line by
  /// one space, as readers would otherwise disagree on its meaning.
  package mutating func append(headLine line: UnsafeRawBufferPointer) {
    guard line.first?.isBlank == true else { return append(contentsOf: line) }
    while let last, last <= .space { removeLast() }
    append(.space)
    append(contentsOf: line.drop(while: \.isBlank))
  }

  /// Appends `name`, `separator`, `value` and `end` in one step. A header line has four pieces, and a step for each
  /// piece would cost more than most of the copies.
  @inlinable @inline(__always)
  package mutating func append(
    field name: UnsafeRawBufferPointer, _ separator: StaticString, _ value: UnsafeRawBufferPointer, _ end: StaticString
  ) {
    let count = name.count + separator.utf8CodeUnitCount + value.count + end.utf8CodeUnitCount
    append(atMost: count) { place in
      place.put(name)
      place.put(separator)
      place.put(value)
      place.put(end)
    }
  }

  /// Appends what `write` puts at the place that it gets, where there is room for `count` octets.
  @inlinable @inline(__always)
  package mutating func append(atMost count: Int, _ write: (_ place: inout UnsafeMutableRawPointer) -> Void) {
    append(addingCapacity: count) { output in
      output.withUnsafeMutableBufferPointer { buffer, initialized in
        guard let start = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
        var place = start
        write(&place)
        initialized = place - start
        assert(initialized <= count)
      }
    }
  }

  /// Appends the magnitude of a number in decimal digits.
  @inlinable
  package mutating func append(decimal number: Int64) {
    append(atMost: UnsafeMutableRawPointer.mostDigits) { $0.put(digitsOf: number.magnitude) }
  }

  /// Appends the magnitude of a number in lower-case hexadecimal digits, the form of chunk sizes.
  @inlinable
  package mutating func append(hexadecimal number: Int) {
    append(atMost: UnsafeMutableRawPointer.mostDigits) { $0.put(digitsOf: UInt64(number.magnitude), base: 16) }
  }

  /// Copies the octets in one piece, unlike the method for any sequence.
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

extension UnsafeMutableRawPointer {
  /// Copies the octets to this place and moves on behind them.
  @inlinable @inline(__always)
  package mutating func put(_ octets: UnsafeRawBufferPointer) {
    guard let source = octets.baseAddress else { return }
    // A call would cost more than the copy of a line end.
    if octets.count <= 2 {
      for index in 0..<octets.count { storeBytes(of: octets[index], toByteOffset: index, as: UInt8.self) }
    } else {
      copyMemory(from: source, byteCount: octets.count)
    }
    self += octets.count
  }

  @inlinable @inline(__always)
  package mutating func put(_ text: StaticString) {
    put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inlinable @inline(__always)
  package mutating func put(_ octet: UInt8) {
    storeBytes(of: octet, as: UInt8.self)
    self += 1
  }

  /// The most digits that ``put(digitsOf:base:)`` writes.
  @inlinable package static var mostDigits: Int { 20 }

  /// Writes the digits of a number, to the base 10 or 16, and moves on behind them.
  @inlinable @inline(__always)
  package mutating func put(digitsOf number: UInt64, base: UInt64 = 10) {
    var digits = 1
    var rest = number / base
    while rest > 0 {
      digits &+= 1
      rest /= base
    }
    self += digits
    rest = number
    for index in 1...digits {
      let digit = UInt8(truncatingIfNeeded: rest % base)
      storeBytes(of: digit < 10 ? digit &+ 0x30 : digit &+ 0x57, toByteOffset: -index, as: UInt8.self)
      rest /= base
    }
  }
}
