import Testing

@testable import WeirMetrics

/// Every length, since short ones are read in other steps than long ones.
@Suite struct LabelHashTests {
  private func hash(_ values: [UInt8]...) -> UInt64 {
    var hash = LabelHash(seed: 0x0123_4567_89AB_CDEF)
    for value in values { value.withUnsafeBytes { hash.combine($0) } }
    return hash.value
  }

  private func text(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(97 + $0 % 26) } }

  private func changed(_ text: [UInt8], at index: Int) -> [UInt8] {
    var text = text
    text[index] ^= 1
    return text
  }

  @Test(arguments: 0...70) func everyByteCounts(count: Int) {
    let text = text(count)
    let hashes = text.indices.map { hash(changed(text, at: $0)) } + [hash(text)]
    #expect(Set(hashes).count == count + 1)
    #expect(hash(text) == hash(text))
  }

  @Test func lengthsAndPlacesCount() {
    let texts = (0...70).map { text($0) }
    #expect(Set(texts.map { hash($0) }).count == texts.count)
    #expect(Set((0...70).map { hash(Array(repeating: 0, count: $0)) }).count == texts.count, "of zeros too")
    let splits = (0...20).map { hash(Array(text(20)[..<$0]), Array(text(20)[$0...])) }
    #expect(Set(splits).count == splits.count)
    #expect(hash(text(3), text(5)) != hash(text(5), text(3)))
  }

  @Test func aByteMakesUpForNoLength() {
    // Of two and of three bytes; "ab" and "abc" once were the same.
    let all = (0...255).map { hash([0x61, 0x62, UInt8($0)]) } + [hash([0x61, 0x62])]
    #expect(Set(all).count == 257)
  }

  @Test(arguments: 0...70) func everyByteIsCompared(count: Int) {
    let text = text(count)
    func isEqual(_ other: [UInt8]) -> Bool {
      text.withUnsafeBytes { text in
        // What follows the text in its place must not matter.
        (other + [0, 1, 2]).withUnsafeBytes { other in
          other.baseAddress.map { equalBytes(text, $0) } ?? false
        }
      }
    }
    #expect(isEqual(text))
    for index in text.indices { #expect(!isEqual(changed(text, at: index)), "\(index)") }
  }
}
