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

/// Selects the label sets of a family in which neighbouring labels have one of many values, in one look at each.
package struct LabelChoice: Sendable {
  /// `name="`, of the first of the labels.
  private let begin: [UInt8]
  private let count: Int
  /// Each `name="value",name="value"`, as in a label set's text.
  private let texts: Set<[UInt8]>

  /// - Parameters:
  ///   - names: Labels that follow each other in the family; at least one.
  ///   - values: A value for each of the labels.
  package init(_ names: [String], _ values: [[String]]) {
    begin = Array("\(names[0])=\"".utf8)
    count = names.count
    texts = Set(
      values.map { values in
        var text: [UInt8] = []
        for (name, value) in zip(names, values) {
          if !text.isEmpty { text.append(UInt8(ascii: ",")) }
          LabelSchema.append(name, value, to: &text)
        }
        return text
      })
  }

  var isEmpty: Bool { texts.isEmpty }

  /// Whether the label set of this text has one of the values.
  func includes(_ text: UnsafeRawBufferPointer) -> Bool {
    guard let start = start(in: text) else { return false }
    var end = start
    // Each label has two quotes. Quotes inside a value are escaped, and so are the backslashes before them.
    for _ in 0..<2 * count {
      while end < text.count, text[end] != UInt8(ascii: "\"") { end += text[end] == UInt8(ascii: "\\") ? 2 : 1 }
      end += 1
    }
    return end <= text.count && texts.contains(Array(text[start..<end]))
  }

  private func start(in text: UnsafeRawBufferPointer) -> Int? {
    guard text.count > begin.count else { return nil }
    return (0...(text.count - begin.count)).first { start in
      (start == 0 || text[start - 1] == UInt8(ascii: ","))
        && UnsafeRawBufferPointer(rebasing: text[start..<(start + begin.count)]).elementsEqual(begin)
    }
  }
}
