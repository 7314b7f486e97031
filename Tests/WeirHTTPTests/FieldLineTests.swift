import Testing
import WeirHTTP

@Suite struct FieldLineTests {
  @Test(
    arguments: [
      ("A: 1\r\n", "A=1"), ("A:1", "A=1"), ("A: \t1 2 \t\r\n", "A=1 2"), ("A:\r\n", "A="), ("A: a:b\n", "A=a:b"),
      ("A : 1\r\n", "A=1"), ("A\t:1", "A=1"), ("a b: 1", "a b=1"), ("A: 1 \r\r\n", "A=1"),
      (" A: 1\r\n", nil), ("\tA: 1\r\n", nil), (": 1\r\n", nil), ("A 1\r\n", nil), ("\r\n", nil), ("", nil),
    ] as [(String, String?)])
  func readingWhatThereIs(line: String, expected: String?) {
    let read = line.withOctets { line in
      FieldLine(line, in: 0..<line.count).map { field in
        "\(FieldSyntax.text(line.octets(field.name)))=\(FieldSyntax.text(line.octets(field.value)))"
      }
    }
    #expect(read == expected)
  }

  @Test(
    arguments: [
      ("Content-Length: 5\r\n", "5", true), ("content-length:5", "5", true), ("CONTENT-LENGTH \t: 5\r\n", "5", false),
      ("Content-Lengthy: 5\r\n", nil, false), ("Content-Length\r\n", nil, false), ("Content-Lengt: 5\r\n", nil, false),
      (" Content-Length: 5\r\n", nil, false), ("Content-Length x: 5", nil, false), ("", nil, false),
    ] as [(String, String?, Bool)])
  func readingOneName(line: String, value: String?, endsAtColon: Bool) {
    line.withOctets { line in
      let field = FieldLine(line, named: "content-length")
      #expect(field.map { FieldSyntax.text(line.octets($0.value)) } == value)
      #expect((field.map { line[$0.name.upperBound] == UInt8(ascii: ":") } ?? false) == endsAtColon)
    }
  }

  @Test(
    arguments: [
      ("A: 1", "A=1"), ("A:1", "A=1"), ("A:\t 1 2 ", "A=1 2"), ("A:", "A="), ("A: a:b", "A=a:b"),
      ("A: \u{fc}", "A=\u{fc}"),
    ])
  func readingStrictly(line: String, expected: String) throws {
    let octets = Array(line.utf8)
    let field = try FieldLine(strictly: octets.span)
    #expect(
      "\(String(decoding: octets[field.name], as: UTF8.self))=\(String(decoding: octets[field.value], as: UTF8.self))"
        == expected)
  }

  @Test(
    arguments: [
      ("", .folded), (" A: 1", .folded), ("\tA: 1", .folded), (": 1", .name), ("A : 1", .name), ("A 1", .name),
      ("A", .name), ("A(: 1", .name), ("\u{fc}: 1", .name), ("A: 1\u{0}", .value), ("A: 1\r2", .value),
      ("A: \u{7f}", .value),
    ] as [(String, FieldLine.Defect)])
  func refusedStrictly(line: String, defect: FieldLine.Defect) {
    let octets = Array(line.utf8)
    #expect(throws: defect) { _ = try FieldLine(strictly: octets.span) }
  }

  @Test(
    arguments: [
      ("A: 1\r\n", true), ("A: \r\n", true), ("A: \u{fc} b\r\n", true), ("A:1\r\n", false), ("A:\r\n", false),
      ("A:  1\r\n", false),
      ("A: 1 \r\n", false), ("A:\t1\r\n", false), ("A: 1\t\r\n", false), ("A: a\tb\r\n", false), ("A : 1\r\n", false),
      ("a b: 1\r\n", false), ("A: 1\n", false), ("A: 1", false), ("A: \u{1}\r\n", false), ("\u{fc}: 1\r\n", false),
    ] as [(String, Bool)])
  func passingOnAsItIs(line: String, isPlain: Bool) {
    "s\r\n\(line)".withOctets { head in
      #expect(FieldLines(ofHead: head).map(\.plain) == [isPlain ? 3..<head.count : 0..<0])
    }
  }

  @Test(arguments: [
    ("HTTP/1.1 200 a: b\r\nA: 1\r\nno colon\r\na:2 \r\n y: z\r\nB: x\r\n\r\n", ["A", "a", "B"]),
    ("s\nA: 1\nB:", ["A", "B"]), ("s", []), ("", []), ("\n\n\nA:", ["A"]), ("A: 1", []),
  ])
  func walking(head: String, names: [String]) {
    head.withOctets { head in
      #expect(FieldLines(ofHead: head).map { FieldSyntax.text(head.octets($0.name)) } == names)
    }
  }
}
