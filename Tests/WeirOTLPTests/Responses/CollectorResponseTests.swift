import Testing
import WeirMetrics
import WeirOTLP

@Suite struct CollectorResponseTests {
  // MARK: Protobuf

  @Test func anEmptyBodySaysThatAllWasTaken() {
    #expect(CollectorResponse([], as: .protobuf) == CollectorResponse())
    #expect(CollectorResponse([], as: .json) == CollectorResponse())
    #expect(CollectorResponse(octets("0a00"), as: .protobuf) == CollectorResponse())
  }

  @Test func partialSuccess() {
    let response = CollectorResponse(octets("0a07 0803 1203 6f6c64"), as: .protobuf)
    #expect(response?.rejected == 3 && response?.message == "old")
  }

  @Test func statusOfAnError() {
    // Its details, which can be anything, are passed over.
    let response = CollectorResponse(error: octets("0803 1203 626164 1a04 0affffff"), as: .protobuf)
    #expect(response?.rejected == 0 && response?.message == "bad")
  }

  @Test(arguments: [
    // Fields that are not known, of each type.
    "0a07 0803 1203 6f6c64 1801 250000 0000 290000 0000 0000 0000 3200",
    "0a14 1801 250000 0000 290000 0000 0000 0000 3200 0803 0a07 0803 1203 6f6c64",
    // A message in two parts is their union.
    "0a02 0803 0a05 1203 6f6c64",
  ])
  func fieldsThatAreNotKnown(_ digits: String) {
    #expect(CollectorResponse(octets(digits), as: .protobuf)?.rejected == 3, "\(digits)")
  }

  @Test func noCountIsNegative() {
    let response = CollectorResponse(octets("0a0b 08 ffffffffffffffffff01"), as: .protobuf)
    #expect(response == CollectorResponse())
  }

  @Test(arguments: [
    "0a", "0a05", "0a05 0803", "0aff ffff ffff ffff ffff 01", "0affff ffff ffff ffff ff7f", "08", "0880",
    "08ffff ffff ffff ffff ffff 01", "0b", "0b0c", "0c", "0e", "0f", "00", "0200", "09 0000", "0d 0000",
    "0a01 0a", "0a02 1205", "0a01 0b", "0a03 1280 80", "ff", "ffffffffffffffffffff",
  ])
  func bodiesThatAreNoMessages(_ digits: String) {
    #expect(CollectorResponse(octets(digits), as: .protobuf) == nil, "\(digits)")
  }

  @Test func groupsCantNest() {
    #expect(CollectorResponse([UInt8](repeating: 0x0b, count: 60_000), as: .protobuf) == nil)
    #expect(CollectorResponse(error: [UInt8](repeating: 0x0b, count: 60_000), as: .protobuf) == nil)
  }

  @Test func typesThatAreWrongArePassedOver() {
    #expect(CollectorResponse(octets("0803"), as: .protobuf) == CollectorResponse())
    #expect(CollectorResponse(octets("0a04 0a00 1003"), as: .protobuf) == CollectorResponse())
  }

  @Test func bodiesThatAreTooLong() {
    let longest = [UInt8](repeating: 0x08, count: CollectorResponse.longestBody)
    #expect(CollectorResponse(longest, as: .protobuf) == CollectorResponse())
    #expect(CollectorResponse(longest + [0x08, 0x08], as: .protobuf) == nil)
    #expect(CollectorResponse(error: longest + [0x08, 0x08], as: .json) == nil)
  }

  // MARK: Texts

  private func message(_ text: [UInt8]) -> String? {
    var page = ExpositionPage()
    text.withUnsafeBytes { text in
      page.withProtobuf { writer in writer.delimited(1) { $0.bytes(2, text) } }
    }
    return CollectorResponse(page.withBytes { Array($0) }, as: .protobuf)?.message
  }

  @Test(arguments: [
    ("two\nlines", "two lines"), ("\u{1b}[31m", " [31m"), ("\u{7f}\u{85}\u{2028}x\0", "   x "), ("ä€😀", "ä€😀"),
  ])
  func controlsAreBlanks(_ text: String, _ shown: String) {
    #expect(message(Array(text.utf8)) == shown)
  }

  @Test func textsAreCutBetweenScalars() {
    #expect(message([UInt8](repeating: 0x61, count: 5_000)) == String(repeating: "a", count: 256))
    #expect(message(Array(("b" + String(repeating: "😀", count: 100)).utf8)) == "b" + String(repeating: "😀", count: 63))
  }

  @Test func textsThatAreNotUTF8AreRepaired() {
    #expect(message([0x61, 0xff, 0x62]) == "a\u{fffd}b")
    let repaired = message([UInt8](repeating: 0xff, count: 300))
    #expect(repaired == String(repeating: "\u{fffd}", count: 85))
  }

  // MARK: JSON

  @Test(arguments: [
    #"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"old"}}"#,
    #" { "partialSuccess" : { "rejectedDataPoints" : 3 , "errorMessage" : "old" } } "#,
    #"{"partial_success":{"rejected_spans":3,"error_message":"\u006fld"}}"#,
    #"""
    {"other":[{"partialSuccess":{"rejectedSpans":4}},"}]\"",null,-1e5],
    "partialSuccess":{"rejectedDataPoints":"3","errorMessage":"old"}}
    """#,
  ])
  func partialSuccessAsJSON(_ text: String) {
    let response = CollectorResponse(Array(text.utf8), as: .json)
    #expect(response?.rejected == 3 && response?.message == "old", "\(text)")
  }

  @Test(arguments: [
    "{}", " {\n} ", #"{"partialSuccess":null}"#, #"{"partialSuccess":{}}"#, #"{"partialSuccess":"x"}"#,
    #"{"partialSuccess":{"rejectedSpans":"-4"}}"#, #"{"partialSuccess":{"rejectedSpans":1.5,"errorMessage":1}}"#,
    #"{"partialSuccess":{"rejectedSpans":99999999999999999999}}"#, #"{"x":{"partialSuccess":{"rejectedSpans":1}}}"#,
  ])
  func jsonThatSaysNothing(_ text: String) {
    #expect(CollectorResponse(Array(text.utf8), as: .json) == CollectorResponse(), "\(text)")
  }

  @Test(arguments: [
    "<html>", "[]", "{", #"{"a"#, #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1"#, #"{a:1}"#, #"{"a":"\x"}"#,
    #"{"a":"\u12"}"#, #"{"a":[}"#, #"{"a":]}"#, #"{"a":"b"#, "\"", "1", "null",
  ])
  func bodiesThatAreNoObjects(_ text: String) {
    #expect(CollectorResponse(Array(text.utf8), as: .json) == nil, "\(text)")
    #expect(CollectorResponse(error: Array(text.utf8), as: .json) == nil, "\(text)")
  }

  @Test func statusOfAnErrorAsJSON() {
    let text = #"{"code":3,"message":"\"quoted\" \u00e4 \ud83d\ude00 \ud83d","details":[{"@type":"x"}]}"#
    let response = CollectorResponse(error: Array(text.utf8), as: .json)
    #expect(response?.message == "\"quoted\" ä 😀 \u{fffd}")
  }

  @Test(arguments: ["[", "{\"a\":", "[{\"a\":"])
  func depthCostsNothing(_ nesting: String) {
    let count = 60_000 / nesting.utf8.count
    let text = "{\"a\":" + String(repeating: nesting, count: count)
    #expect(CollectorResponse(Array(text.utf8), as: .json) == nil)
    let closed = "{\"a\":" + String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000) + "}"
    #expect(CollectorResponse(Array(closed.utf8), as: .json) == CollectorResponse())
  }
}
