/// Which label sets of a family have certain values.
struct LabelSelection {
  /// `name="value"`, as in a label set's text.
  private let pairs: [[UInt8]]

  /// Names that are no label of the family select nothing, and so do none at all.
  init(_ values: [String: String], of schema: LabelSchema) {
    pairs = values.map { name, value in
      var text: [UInt8] = []
      LabelSchema.append(name, value, to: &text)
      return text
    }
  }

  /// Whether the label set of this text has all the values.
  func includes(_ text: UnsafeRawBufferPointer) -> Bool {
    !pairs.isEmpty && pairs.allSatisfy { pair in Self.hasPair(text, pair) }
  }

  /// A pair begins the text or follows a comma. Within a value there is no such place: its quotes are escaped.
  private static func hasPair(_ text: UnsafeRawBufferPointer, _ pair: [UInt8]) -> Bool {
    guard text.count >= pair.count else { return false }
    return (0...(text.count - pair.count)).contains { start in
      (start == 0 || text[start - 1] == UInt8(ascii: ","))
        && UnsafeRawBufferPointer(rebasing: text[start..<(start + pair.count)]).elementsEqual(pair)
    }
  }
}
