import Testing
import WeirTestSupport

@testable import WeirHTTP

@Suite struct UrgencyTests {
  @Test(
    arguments: [
      ("u=0", 0), ("u=7, i", 7), ("i, u=2", 2), ("u=1;x", 1), ("u=1;x=\"u=4\"", 1), ("u=1 ", 1), (" u=5", 5),
      ("a=\"u=1, u=0\", u=6", 6), ("i=?0,u=4,x", 4),
      // The last of several counts (RFC 8941 §3.2).
      ("u=1, u=5", 5), ("u=1, i, u=0", 0),
      // A value that is not an urgency counts as the standard (RFC 9218 §4).
      ("u=8", 3), ("u=-1", 3), ("u", 3), ("u;x", 3), ("u=", 3), ("u=10", 3), ("u=1.0", 3), ("u=\"1\"", 3), ("u=a", 3),
      ("u=2, u=8", 3), ("u=2, u", 3), ("u=8, u=2", 2),
      // Other keys.
      ("", nil), ("i", nil), ("urgency=1", nil), ("u2=1", nil), ("U=1", nil), ("=1", nil), ("x=u=1", nil),
      (",,,", nil), ("\"u=1", nil), ("\u{0}u=1", nil), ("é, ü=1", nil),
    ] as [(String, Int?)])
  func urgency(text: String, expected: Int?) {
    #expect(parse(text) == expected)
  }

  /// The longest field that the gateway takes is read once, whatever it holds.
  @Test(arguments: [",", "u=1,", "u=1;", "\"", "\\", "u"])
  func longFieldsAreReadInOnePass(piece: String) {
    let text = String(repeating: piece, count: 65_536 / piece.utf8.count)
    let expected: Int? =
      switch piece {
      case "u=1,", "u=1;": 1
      default: nil
      }
    #expect(parse(text) == expected)
  }

  /// Mutations of a real field: none may trap, and the result is always an urgency.
  @Test(arguments: 0..<200) func mutations(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var octets = Array("u=1;x=\"a\\\"b\", i, u=7".utf8)
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      octets[Int.random(in: octets.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
    }
    let urgency = octets.withUnsafeBytes { Urgency.parse($0) }
    #expect(urgency.map { (0...7).contains($0) } ?? true, "\(octets)")
  }

  private func parse(_ text: String) -> Int? { Array(text.utf8).withUnsafeBytes { Urgency.parse($0) } }
}
