/// A type whose values can stand in a label: text, whole numbers, enumerations of text.
///
/// A value longer than 4 KiB is cut, on a scalar's boundary.
public protocol LabelValue: Sendable {
  /// Passes the value's text as UTF-8 to `body`. Equal values give equal bytes. The bytes are valid only during the
  /// call.
  func withLabelBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result
}

extension String: LabelValue {
  @inlinable @inline(__always)
  public func withLabelBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    // `withUTF8` would be mutating: the copy that it needs would be retained and released.
    if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
    var text = self
    return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}

extension Substring: LabelValue {
  @inlinable
  public func withLabelBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    var text = self
    return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}

extension StaticString: LabelValue {
  @inlinable
  public func withLabelBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUTF8Buffer { body(UnsafeRawBufferPointer($0)) }
  }
}

extension Bool: LabelValue {
  @inlinable
  public func withLabelBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    (self ? "true" : "false" as StaticString).withLabelBytes(body)
  }
}

extension Int: LabelValue {
  @inlinable
  public func withLabelBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withUnsafeTemporaryAllocation(byteCount: 24, alignment: 8) { buffer in
      var rest = magnitude
      var start = buffer.count
      repeat {
        start -= 1
        buffer[start] = UInt8(truncatingIfNeeded: 48 &+ rest % 10)
        rest /= 10
      } while rest > 0
      if self < 0 {
        start -= 1
        buffer[start] = UInt8(ascii: "-")
      }
      return body(UnsafeRawBufferPointer(rebasing: buffer[start...]))
    }
  }
}

extension LabelValue where Self: RawRepresentable, RawValue: LabelValue {
  @inlinable
  public func withLabelBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    rawValue.withLabelBytes(body)
  }
}

/// A label's value from bytes that may not be UTF-8: invalid ones become U+FFFD.
public struct LabelBytes: LabelValue, Equatable {
  /// The repaired text.
  public let text: String

  /// Bytes beyond a label's limit of 4 KiB are dropped.
  public init(_ bytes: some Collection<UInt8>) {
    text = String(decoding: bytes.prefix(LabelText.limit + 4), as: UTF8.self)
  }

  @inlinable
  public func withLabelBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    text.withLabelBytes(body)
  }
}
