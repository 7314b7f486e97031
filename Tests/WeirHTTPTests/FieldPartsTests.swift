import Testing
import WeirHTTP

@Suite struct FieldPartsTests {
  private static func texts(_ parts: FieldParts) -> [String] { parts.map { FieldSyntax.text($0) } }

  @Test(
    arguments: [
      ("", [""], [""]), ("a", ["a"], ["a"]), ("a,b", ["a", "b"], ["a", "b"]), (" a ,\tb ", ["a", "b"], ["a", "b"]),
      (",", ["", ""], ["", ""]), ("a,,b,", ["a", "", "b", ""], ["a", "", "b", ""]),
      ("\"a,b\",c", ["\"a", "b\"", "c"], ["\"a,b\"", "c"]),
      ("\"a\\\",b\",c", ["\"a\\\"", "b\"", "c"], ["\"a\\\",b\"", "c"]),
      ("a\\,b", ["a\\", "b"], ["a\\", "b"]),
      // Without an end it holds all the rest, where quotes count.
      ("a,\"b,c", ["a", "\"b", "c"], ["a", "\"b,c"]), ("a;b,c;d", ["a;b", "c;d"], ["a;b", "c;d"]),
    ])
  func lists(value: String, plain: [String], quoted: [String]) {
    value.withOctets { value in
      #expect(Self.texts(value.listElements) == plain)
      #expect(Self.texts(value.quotedListElements) == quoted)
    }
  }

  @Test(arguments: [
    ("a", ["a"]), ("a; b=c ;d", ["a", "b=c", "d"]), ("a;b=\";\";c", ["a", "b=\";\"", "c"]), (";", ["", ""]),
  ])
  func parameters(value: String, parts: [String]) {
    value.withOctets { #expect(Self.texts($0.parameterParts) == parts) }
  }

  @Test(arguments: [
    ("", true), ("a", true), ("\"\"", true), ("\"", false), ("\"a\\\"", false), ("\"a\\\\\"", true), ("\\\"", false),
    ("\"a\",\"b\"", true), ("\"a\",\"", false),
  ])
  func wholeQuotations(value: String, isWhole: Bool) {
    #expect(value.withOctets { $0.hasWholeQuotations } == isWhole)
  }

  @Test(
    arguments: [
      ("\"\"", ""), ("\"a b\"", "a b"), ("\"a\\\"b\"", "a\"b"), ("\"\\\\\"", "\\"), ("\"\\a\"", "a"),
      ("", nil), ("a", nil), ("\"", nil), ("\"a", nil), ("\"a\\\"", nil), ("\"a\" ", nil), ("\"a\"b", nil),
      ("\"a\"\"b\"", nil), ("a\"b\"", nil),
    ] as [(String, String?)])
  func unquoted(value: String, text: String?) {
    #expect(value.withOctets { $0.unquoted }.map { String(decoding: $0, as: UTF8.self) } == text)
  }
}
