import Testing

@testable import WeirMetrics

@Suite struct ProtobufWriterTests {
  private func written(_ write: (inout ProtobufWriter) -> Void) -> [UInt8] {
    var page = ExpositionPage()
    page.withProtobuf(write)
    return page.withBytes { Array($0) }
  }

  @Test(
    arguments: [
      (0, [0x08, 0x00]), (1, [0x08, 0x01]), (127, [0x08, 0x7f]), (128, [0x08, 0x80, 0x01]), (300, [0x08, 0xac, 0x02]),
      (UInt64.max, [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
    ] as [(UInt64, [UInt8])])
  func varints(_ value: UInt64, _ bytes: [UInt8]) {
    #expect(written { $0.varint(1, value) } == bytes)
  }

  @Test func negativeNumbersTakeTenOctetsUnlessTheyZigzag() {
    #expect(written { $0.varint(1, Int64(-1)) } == [0x08] + [UInt8](repeating: 0xff, count: 9) + [0x01])
    #expect(written { $0.zigzag(1, -1) } == [0x08, 0x01])
    #expect(written { $0.zigzag(1, 1) } == [0x08, 0x02])
    #expect(written { $0.zigzag(1, .min) } == [0x08] + [UInt8](repeating: 0xff, count: 9) + [0x01])
  }

  @Test func numbersOfFixedSize() {
    #expect(written { $0.fixed32(1, 0x0102_0304) } == [0x0d, 4, 3, 2, 1])
    #expect(written { $0.fixed64(1, 0x0102_0304_0506_0708) } == [0x09, 8, 7, 6, 5, 4, 3, 2, 1])
    #expect(written { $0.double(2, 1.5) } == [0x11, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f])
    #expect(written { $0.boolean(3, true) } == [0x18, 1])
  }

  @Test func theNumberOfAFieldMayTakeMoreOctets() {
    #expect(written { $0.boolean(16, false) } == [0x80, 0x01, 0])
    #expect(written { $0.boolean(536_870_911, true) } == [0xf8, 0xff, 0xff, 0xff, 0x0f, 1])
  }

  @Test(arguments: ["", "a", "fifteen octets!", "more than fifteen", "\u{e4}\u{1f600}"])
  func strings(_ text: String) {
    #expect(written { $0.string(2, text) } == [0x12, UInt8(text.utf8.count)] + Array(text.utf8))
  }

  @Test func bytesThatAreNone() {
    #expect(written { $0.bytes(1, UnsafeRawBufferPointer(start: nil, count: 0)) } == [0x0a, 0])
  }

  @Test func packedValues() {
    let bytes = written { writer in
      writer.delimited(6) { values in
        values.packed(varint: 3)
        values.packed(varint: 270)
        values.packed(zigzag: -2)
      }
      writer.delimited(7) { $0.packed(double: 1) }
      writer.delimited(8) { $0.packed(fixed64: 2) }
    }
    let fixed: [UInt8] = [0x3a, 8, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x42, 8, 2, 0, 0, 0, 0, 0, 0, 0]
    #expect(bytes == [0x32, 4, 3, 0x8e, 0x02, 3] + fixed)
  }

  @Test func aMessageMayBeEmpty() {
    #expect(written { $0.delimited(1) { _ in } } == [0x0a, 0])
  }

  /// The lengths at which a varint gets longer, and one for which the page has to grow.
  @Test(
    arguments: [
      (127, [0x7f]), (128, [0x80, 0x01]), (16_383, [0xff, 0x7f]), (16_384, [0x80, 0x80, 0x01]),
      (2_097_152, [0x80, 0x80, 0x80, 0x01]),
    ] as [(Int, [UInt8])])
  func lengthsComeBeforeWhatTheyCount(_ count: Int, _ length: [UInt8]) {
    // A field of a number below 16 and of no more than 127 octets has two octets before them.
    let body = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let bytes = written { writer in
      writer.boolean(1, true)
      writer.delimited(2) { packed in
        for octet in body { packed.packed(varint: UInt64(octet & 0x7f)) }
      }
      writer.boolean(3, true)
    }
    #expect(bytes == [0x08, 1, 0x12] + length + body.map { $0 & 0x7f } + [0x18, 1])
  }

  /// A body that is shorter or longer than was foreseen is moved.
  @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 50_000], [0, 127, 128, 16_384, 1 << 30])
  func aLengthMayBeForeseen(_ count: Int, _ foreseen: Int) {
    let text = String(repeating: "x", count: count)
    let field = written { $0.delimited(1) { $0.string(2, text) } }
    let bytes = written { writer in
      writer.delimited(1, about: foreseen) { $0.string(2, text) }
      writer.boolean(3, true)
    }
    #expect(bytes == field + [0x18, 1])
    // Without a number there is the length alone.
    #expect(written { $0.delimited(nil, about: foreseen) { $0.string(2, text) } } == Array(field.dropFirst()))
  }

  @Test func messagesWithinMessages() {
    let text = String(repeating: "x", count: 200)
    let bytes = written { writer in
      writer.delimited(1) { outer in
        outer.delimited(2) { $0.string(3, text) }
        outer.boolean(4, true)
      }
    }
    // 200 octets behind their number and length of two octets: 203. These behind theirs, and the two last ones: 208.
    #expect(bytes == [0x0a, 0xd0, 0x01, 0x12, 0xcb, 0x01, 0x1a, 0xc8, 0x01] + Array(text.utf8) + [0x20, 1])
  }

  @Test func aPageMayHaveSomethingBefore() {
    var page = ExpositionPage()
    page.withProtobuf { $0.boolean(1, true) }
    page.withProtobuf { $0.string(2, String(repeating: "y", count: 100_000)) }
    page.withProtobuf { $0.boolean(3, true) }
    #expect(page.count == 2 + 4 + 100_000 + 2)
    #expect(page.withBytes { Array($0.suffix(3)) } == [UInt8(ascii: "y"), 0x18, 1])
  }
}
