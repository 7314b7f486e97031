/// The form in which a label's value is kept: valid UTF-8 of at most 4 KiB.
@usableFromInline
enum LabelText {
  @usableFromInline static let limit = 4096
  /// The value of every label of the series that counts label sets beyond the family's limit.
  static let other = "_other"

  @usableFromInline
  static func canonical(_ value: some LabelValue) -> String {
    // Invalid bytes are repaired, which can make the text longer: hence the second cut.
    let text = value.withLabelBytes { String(decoding: $0.prefix(boundary($0)), as: UTF8.self) }
    guard text.utf8.count > limit else { return text }
    return text.withLabelBytes { String(decoding: $0.prefix(boundary($0)), as: UTF8.self) }
  }

  /// The number of bytes to keep: those before the scalar that crosses the limit.
  private static func boundary(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard bytes.count > limit else { return bytes.count }
    // A scalar has at most three continuation bytes; more of them in a row are not UTF-8 and are repaired anyway.
    for end in stride(from: limit, through: limit - 3, by: -1) where bytes[end] & 0xC0 != 0x80 { return end }
    return limit
  }
}
