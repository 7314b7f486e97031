/// What an input stands for: two bytes of choices, then what an upstream sends, in parts of pieces.
///
/// The first byte chooses the methods of up to three requests and whether the upstream closes after its last part; the
/// second is the target's. 0xFE begins the answer to another request, 0xFF another piece of an answer.
package struct FuzzInput {
  package let closesAtEnd: Bool
  /// 0 to 3 for each of the requests.
  package let methods: [Int]
  package let options: UInt8
  package let parts: [[[UInt8]]]

  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 2 else { return nil }
    let choice = bytes[0]
    options = bytes[1]
    parts = bytes.dropFirst(2).split(separator: 0xFE, omittingEmptySubsequences: false).map { part in
      part.split(separator: 0xFF).map { Array($0) }
    }
    closesAtEnd = choice & 1 != 0
    methods = (0..<min(parts.count, 3)).map { Int(choice >> (1 + 2 * $0)) & 3 }
  }
}
