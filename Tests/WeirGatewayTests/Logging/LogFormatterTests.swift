import Testing
import WeirHTTP

@testable import WeirGateway

@Suite struct LogFormatterTests {
  @Test(arguments: [
    ("plain", "plain", #""plain""#), ("two words", #""two words""#, #""two words""#),
    ("a=b", #""a=b""#, #""a=b""#), (#"say "x""#, #""say \"x\"""#, #""say \"x\"""#), (#"a\b"#, #""a\\b""#, #""a\\b""#),
    ("a\nlevel=error", #""a\nlevel=error""#, #""a\nlevel=error""#), ("\u{1b}[31m", #""\u001b[31m""#, #""\u001b[31m""#),
    ("tab\tcr\r", #""tab\tcr\r""#, #""tab\tcr\r""#), ("é→😀", "é→😀", #""é→😀""#),
    ("a\u{2028}b", #""a\u2028b""#, #""a\u2028b""#), ("\u{7f}\u{85}", #""\u007f\u0085""#, #""\u007f\u0085""#),
  ])
  func escapesValues(value: String, logfmt: String, json: String) {
    let time = Timestamp(milliseconds: 0)
    let fields: LogFields = ["key": .string(value)]
    #expect(
      text(LogFormatter(.logfmt).line(at: time, .info, "m", fields))
        == "time=1970-01-01T00:00:00.000Z level=info msg=m key=\(logfmt)\n")
    #expect(
      text(LogFormatter(.json).line(at: time, .info, "m", fields))
        == #"{"time":"1970-01-01T00:00:00.000Z","level":"info","msg":"m","key":\#(json)}"# + "\n")
  }

  @Test func writesEveryKindOfValue() {
    let fields: LogFields = [
      "i": .integer(-3), "d": .double(0.5), "inf": .double(.infinity), "s": "a\(1)", "t": LogValue(.milliseconds(1500)),
      "bad key=\"": .integer(1),
    ]
    let time = Timestamp(milliseconds: 0)
    #expect(
      text(LogFormatter(.logfmt).line(at: time, .warn, "two words", fields))
        == "time=1970-01-01T00:00:00.000Z level=warn msg=\"two words\" i=-3 d=0.5 inf=inf s=a1 t=1.5 bad_key__=1\n"
    )
    #expect(
      text(LogFormatter(.json).line(at: time, .error, "m", fields)).hasSuffix(
        #""msg":"m","i":-3,"d":0.5,"inf":"inf","s":"a1","t":1.5,"bad key=\"":1}"# + "\n"))
  }

  @Test(arguments: [LogFormat.logfmt, .json]) func emptyFieldsAreLeftOut(format: LogFormat) {
    func line(_ fields: LogFields) -> String {
      text(LogFormatter(format).line(at: Timestamp(milliseconds: 0), .warn, "m", fields))
    }
    #expect(line(["a": "1", "error": "", "b": .integer(0), "text": ""]) == line(["a": "1", "b": .integer(0)]))
  }

  @Test func longValuesAreCutBetweenScalars() {
    let long = String(repeating: "a", count: LogFormatter.maximumValueLength - 1) + "éé"
    let line = text(LogFormatter(.logfmt).line(at: Timestamp(milliseconds: 0), .info, long))
    #expect(line.hasSuffix("aaa…\n"))
    #expect(!line.contains("é"))
  }

  private func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }
}
