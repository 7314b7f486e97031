import Testing

@testable import WeirGateway

@Suite struct YAMLScalarTests {
  @Test(
    arguments: [
      ("", .null), ("~", .null), ("null", .null), ("Null", .null), ("nULL", .string("nULL")),
      ("true", .bool(true)), ("FALSE", .bool(false)), ("yes", .string("yes")), ("on", .string("on")),
      ("0", .integer(0)), ("-12", .integer(-12)), ("+7", .integer(7)), ("007", .integer(7)),
      ("0o17", .integer(15)), ("0xfF", .integer(255)), ("0x-1", .string("0x-1")), ("0o8", .string("0o8")),
      ("0x", .string("0x")), ("-0x1", .string("-0x1")), ("1_000", .string("1_000")), ("-", .string("-")),
      ("9223372036854775807", .integer(.max)), ("9223372036854775808", .float(9_223_372_036_854_775_808)),
      ("1.5", .float(1.5)), (".5", .float(0.5)), ("5.", .float(5)), ("-1e3", .float(-1000)), ("1E-2", .float(0.01)),
      (".", .string(".")), ("1e", .string("1e")), ("1.2.3", .string("1.2.3")), ("0x1p3", .string("0x1p3")),
      ("inf", .string("inf")), ("nan", .string("nan")), (".inf", .float(.infinity)), ("-.INF", .float(-.infinity)),
      ("30s", .string("30s")), ("12:30", .string("12:30")), ("２", .string("２")),
    ] as [(String, YAMLScalar.Value)])
  func resolvesPlainText(text: String, expected: YAMLScalar.Value) {
    #expect(YAMLScalar(plain: text).value == expected)
  }

  @Test func notANumberIsAFloat() {
    guard case .float(let value) = YAMLScalar(plain: ".nan").value else {
      Issue.record("no float")
      return
    }
    #expect(value.isNaN)
  }

  @Test(arguments: ["true", "5", "", "~"])
  func quotedTextIsAString(text: String) {
    #expect(YAMLScalar(quoted: text).value == .string(text))
  }
}
