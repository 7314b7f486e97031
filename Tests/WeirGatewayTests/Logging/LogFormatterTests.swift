import Testing

@testable import WeirGateway

@Suite struct LogFormatterTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (951_868_799_999, "2000-02-29T23:59:59.999Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
      (1_767_225_599_005, "2025-12-31T23:59:59.005Z"), (-1, "1969-12-31T23:59:59.999Z"),
    ] as [(Int64, String)])
  func showsTime(milliseconds: Int64, expected: String) {
    var line: [UInt8] = []
    LogTime(milliseconds: milliseconds).append(to: &line)
    #expect(String(decoding: line, as: UTF8.self) == expected)
  }

  @Test(arguments: [
    ("plain", "plain", #""plain""#), ("two words", #""two words""#, #""two words""#),
    ("a=b", #""a=b""#, #""a=b""#), (#"say "x""#, #""say \"x\"""#, #""say \"x\"""#), (#"a\b"#, #""a\\b""#, #""a\\b""#),
    ("a\nlevel=error", #""a\nlevel=error""#, #""a\nlevel=error""#), ("\u{1b}[31m", #""\u001b[31m""#, #""\u001b[31m""#),
    ("tab\tcr\r", #""tab\tcr\r""#, #""tab\tcr\r""#), ("é→😀", "é→😀", #""é→😀""#),
    ("a\u{2028}b", #""a\u2028b""#, #""a\u2028b""#), ("\u{7f}\u{85}", #""\u007f\u0085""#, #""\u007f\u0085""#),
  ])
  func escapesValues(value: String, logfmt: String, json: String) {
    let time = LogTime(milliseconds: 0)
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
      "i": -3, "d": 0.5, "inf": .double(.infinity), "b": true, "s": "a\(1)", "t": LogValue(.milliseconds(1500)),
      "bad key=\"": 1,
    ]
    let time = LogTime(milliseconds: 0)
    #expect(
      text(LogFormatter(.logfmt).line(at: time, .warn, "two words", fields))
        == "time=1970-01-01T00:00:00.000Z level=warn msg=\"two words\" i=-3 d=0.5 inf=inf b=true s=a1 t=1.5 bad_key__=1\n"
    )
    #expect(
      text(LogFormatter(.json).line(at: time, .error, "m", fields)).hasSuffix(
        #""msg":"m","i":-3,"d":0.5,"inf":"inf","b":true,"s":"a1","t":1.5,"bad key=\"":1}"# + "\n"))
  }

  @Test(arguments: [LogFormat.logfmt, .json]) func emptyFieldsAreLeftOut(format: LogFormat) {
    func line(_ fields: LogFields) -> String {
      text(LogFormatter(format).line(at: LogTime(milliseconds: 0), .warn, "m", fields))
    }
    #expect(line(["a": "1", "error": "", "b": 0, "text": ""]) == line(["a": "1", "b": 0]))
  }

  @Test func longValuesAreCutBetweenScalars() {
    let long = String(repeating: "a", count: LogFormatter.maximumValueLength - 1) + "éé"
    let line = text(LogFormatter(.logfmt).line(at: LogTime(milliseconds: 0), .info, long))
    #expect(line.hasSuffix("aaa…\n"))
    #expect(!line.contains("é"))
  }

  private func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }
}
