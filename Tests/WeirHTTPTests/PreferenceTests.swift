import Testing
import WeirTestSupport

@testable import WeirHTTP

@Suite struct PreferenceTests {
  @Test(
    arguments: [
      ("0", 0), ("1", 1000), ("0.", 0), ("1.", 1000), ("0.5", 500), ("0.05", 50), ("0.005", 5), ("0.999", 999),
      ("1.000", 1000), ("1.0", 1000), ("0.0005", 1), ("0.0000", 0), ("0.1239", 123), ("1.0000", 1000),
      ("", nil), (".5", nil), ("2", nil), ("-0", nil), ("+1", nil), ("1.001", nil), ("1.0001", nil), ("0,5", nil),
      ("00", nil), ("0.5x", nil), ("1e0", nil), ("0.5.5", nil), ("x", nil),
    ] as [(String, Int?)])
  func quality(text: String, thousandths: Int?) {
    #expect(Quality(text.utf8)?.thousandths == thousandths)
  }

  @Test func elementsKeepTheirOrderAndParameters() {
    let list = Preference.list("a/B ;C=d;e=\"F,\\\"g\"; q=0.25,, h")
    #expect(
      list == [
        Preference(
          name: "a/b", parameters: [.init(name: "c", value: "d"), .init(name: "e", value: "f,\"g")],
          quality: Quality(thousandths: 250)),
        Preference(name: "h", parameters: [], quality: .full),
      ])
  }

  /// Mutations of a real field: none may trap, and an element that follows a whole one is always found.
  @Test(arguments: 0..<200) func mutations(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let alphabet = Array("aq/;=,\"\\ .*01\t\u{e9}\u{0}".utf8)
    for _ in 0..<100 {
      var bytes = Array("application/openmetrics-text;version=\"1.0.0\";q=0.5, text/*;q=0.2, */*".utf8)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let position = Int.random(in: 0..<bytes.count, using: &random)
        let byte = alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
        if Bool.random(using: &random) { bytes[position] = byte } else { bytes.insert(byte, at: position) }
      }
      let broken = String(decoding: bytes, as: UTF8.self)
      for element in Preference.list(broken) { #expect(!element.name.isEmpty) }
      #expect(Preference.list("found, " + broken).first?.name == "found")
    }
  }

  /// Pieces, and the elements of a field of 16 KiB of them, as much as the server lets through. Reading some of them again and
  /// again would take minutes.
  @Test(
    .timeLimit(.minutes(5)),
    arguments: [
      ("\"", 0), ("\"\\", 0), (",", 0), (";", 0), ("a;", 0), ("a/", 0), ("\\\"", 0), ("a=\"b\",", 0), ("a,", 8192),
      ("a;b=\",\",", 2048),
    ])
  func longFieldsAreReadInOneGo(piece: String, count: Int) {
    #expect(Preference.list(String(repeating: piece, count: 16 * 1024 / piece.utf8.count)).count == count)
  }
}
