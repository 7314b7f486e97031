public import Glibc

// Comparing and cutting octets as HTTP does: letters without regard to case, blanks off the ends.

extension Span<UInt8> {
  /// The place of the first `octet` at or after `start`.
  @inlinable
  package func firstIndex(of octet: UInt8, from start: Int) -> Int? {
    withUnsafeBufferPointer { buffer in
      guard start < buffer.count, let base = buffer.baseAddress,
        let found = memchr(base + start, CInt(octet), buffer.count - start)
      else { return nil }
      return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }
  }

  /// Whether the octets spell `text`, which is in lower case, in any case.
  @inlinable
  package func spells(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { text in
      for index in indices where self[index].lowercased != text[index] { return false }
      return true
    }
  }

  /// Whether the octets are `text`.
  @inlinable
  package func equals(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { text in
      for index in indices where self[index] != text[index] { return false }
      return true
    }
  }

  @inlinable
  package func allSatisfy(_ predicate: (UInt8) -> Bool) -> Bool {
    for index in indices where !predicate(self[index]) { return false }
    return true
  }

  /// `range` without the blanks at its ends.
  @inlinable
  package func trimmed(_ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, self[start].isBlank { start += 1 }
    while end > start, self[end - 1].isBlank { end -= 1 }
    return start..<end
  }
}

extension [UInt8] {
  package mutating func append(_ octets: Span<UInt8>) {
    octets.withUnsafeBufferPointer { append(contentsOf: $0) }
  }
}

extension BidirectionalCollection<UInt8> where SubSequence: BidirectionalCollection<UInt8> {
  /// Without the blanks at the ends.
  @inlinable
  package var trimmed: SubSequence {
    var rest = drop { $0.isBlank }
    while let last = rest.last, last.isBlank { rest = rest.dropLast() }
    return rest
  }
}

extension Sequence<UInt8> {
  /// Whether the octets spell `text`, which is in lower case, in any case.
  @inlinable
  package func spell(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { elementsEqual($0) { $0.lowercased == $1 } }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the octets spell `text`, which is in lower case, in any case.
  @inlinable
  package func spells(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return begins(with: text)
  }

  /// Whether the first octets spell `text`, which is in lower case, in any case.
  @inlinable
  package func begins(with text: StaticString) -> Bool {
    guard count >= text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { text in
      for index in 0..<text.count where self[index].lowercased != text[index] { return false }
      return true
    }
  }

  /// Whether both hold the same octets but for the case of letters.
  @inlinable
  package func equalsIgnoringCase(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index].lowercased != other[index].lowercased { return false }
    return true
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
