/// Writes label sets as fields of client_model's messages: a `LabelPair` for each label.
///
/// Most of a page are labels. So the names are rendered once for a family, and the values are copied from the set's
/// text in blocks of 16 bytes.
struct LabelPairs: Sendable {
  /// For each label, its name as the field 1 of a pair, and what begins the field 2.
  private let names: [PaddedBytes]
  private let schema: LabelSchema
  /// Whether the sets have other names than these.
  private let isAny: Bool

  /// - Parameters:
  ///   - labels: The names that all sets have.
  ///   - isAny: Whether each set has names of its own instead.
  init(_ labels: [String], isAny: Bool = false) {
    self.isAny = isAny
    schema = LabelSchema(names: labels)
    names = labels.map { PaddedBytes(Self.field(1, Array($0.utf8)) + [Self.tag(2)]) }
  }

  /// The length of a set's fields, if nothing in it is escaped and each pair has less than 128 bytes.
  @inline(__always)
  func length(of text: UnsafeRawBufferPointer) -> Int {
    // Each `name="value",` loses four bytes, the last one three, and gets six.
    text.count &+ 2 &* names.count &+ 1
  }

  /// Writes a set's fields, which have the number 1 in each message.
  ///
  /// - Parameters:
  ///   - text: The set as the text format shows it, with the family's labels in their order, and padding behind it.
  ///   - isEscaped: Whether the text has escapes.
  @inline(__always)
  func write(_ text: UnsafeRawBufferPointer, isEscaped: Bool, to writer: inout ProtobufWriter) {
    if isAny { return Self.writeAny(text, to: &writer) }
    if names.isEmpty { return }
    var line = LineWriter(cursor: writer.room(length(of: text) + LineWriter.slack))
    if !isEscaped, put(text, to: &line) {
      writer.cursor = line.cursor
    } else {
      Self.writeAny(text, to: &writer)
    }
  }

  /// Writes the pairs of any label set.
  static func writeAny(_ text: UnsafeRawBufferPointer, to writer: inout ProtobufWriter) {
    LabelSchema.forEachPair(in: text) { name, value in
      let pair = writer.open(1)
      writer.bytes(1, name)
      writer.bytes(2, value)
      writer.close(pair)
    }
  }

  /// Returns false if a pair's length takes more than one byte.
  @inline(__always)
  private func put(_ text: UnsafeRawBufferPointer, to line: inout LineWriter) -> Bool {
    guard var value = text.baseAddress else { return true }
    let lastQuote = value + (text.count &- 1)
    for index in names.indices {
      // The last label is left out if its value is empty.
      if index > 0, value == lastQuote { break }
      value += schema.skip(index)
      let count = Self.quote(in: value)
      let length = names[index].count &+ 1 &+ count
      if length >= 0x80 { return false }
      line.put(Self.tag(1))
      line.put(UInt8(truncatingIfNeeded: length))
      line.put(names[index])
      line.put(UInt8(truncatingIfNeeded: count))
      line.put(padded: UnsafeRawBufferPointer(start: value, count: count))
      value += count
    }
    return true
  }

  /// The number of bytes before the next quote, of which eight are looked at in one step.
  @inline(__always)
  private static func quote(in text: UnsafeRawPointer) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var position = 0
    while true {
      // A quote is a zero in `rest`. Only a zero, or a byte above one, has its high bit set here.
      let word = UInt64(littleEndian: (text + position).loadUnaligned(as: UInt64.self))
      let rest = word ^ ones &* UInt64(UInt8(ascii: "\""))
      let found = (rest &- ones) & ~rest & (ones << 7)
      if found != 0 { return position &+ found.trailingZeroBitCount >> 3 }
      position &+= 8
    }
  }

  private static func tag(_ number: UInt8) -> UInt8 { number << 3 | 2 }

  private static func field(_ number: UInt8, _ text: [UInt8]) -> [UInt8] {
    var page = ExpositionPage()
    page.withProtobuf { writer in text.withUnsafeBytes { writer.bytes(Int(number), $0) } }
    return page.withBytes { Array($0) }
  }
}
