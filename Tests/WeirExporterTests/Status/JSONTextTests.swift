import Testing

@testable import WeirExporter

@Suite struct JSONTextTests {
  @Test(arguments: [
    ("plain", #""plain""#, #""plain""#), ("", #""""#, #""""#), (#"a"b\c"#, #""a\"b\\c""#, #""a\"b\\c""#),
    ("\n\r\t", #""\n\r\t""#, #""\u000a\u000d\u0009""#),
    ("\u{0}\u{1b}\u{7f}", #""\u0000\u001b\u007f""#, #""\u0000\u001b\u007f""#),
    ("\u{80}\u{9f}", #""\u0080\u009f""#, "\"\u{80}\u{9f}\""), ("</a>", #""</a>""#, #""\u003c/a>""#),
    ("\u{2027}\u{2028}\u{2029}", "\"\u{2027}\\u2028\\u2029\"", "\"\u{2027}\\u2028\\u2029\""),
    ("é→😀", #""é→😀""#, #""é→😀""#),
  ])
  func escapes(text: String, inTerminal: String, inPage: String) {
    for (place, expected) in [(JSONText.Place.terminal, inTerminal), (.page, inPage)] {
      var bytes: [UInt8] = []
      JSONText.append(text, in: place, to: &bytes)
      #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }
  }
}
