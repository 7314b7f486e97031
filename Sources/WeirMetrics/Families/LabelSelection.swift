/// Selects the label sets of a family that have certain values.
struct LabelSelection {
  /// `name="value"`, as in a label set's text.
  private let pairs: [[UInt8]]

  /// A name that is not a label of the family selects nothing, and so does an empty dictionary.
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

  /// A pair is at the beginning of the text or follows a comma. It can't be inside a value, whose quotes are escaped.
  private static func hasPair(_ text: UnsafeRawBufferPointer, _ pair: [UInt8]) -> Bool {
    guard text.count >= pair.count else { return false }
    return (0...(text.count - pair.count)).contains { start in
      (start == 0 || text[start - 1] == UInt8(ascii: ","))
        && UnsafeRawBufferPointer(rebasing: text[start..<(start + pair.count)]).elementsEqual(pair)
    }
  }
}
