import Testing

@testable import WeirGateway

@Suite struct YAMLParserTests {
  @Test(arguments: [
    ("a: 1\nb: [x, 'y', \"z\"]\n", "{a@1:1: 1, b@2:1: [\"x\", \"y\", \"z\"]}"),
    ("{\"a\":{\"b\":null},\"c\":[true,-1.5]}", "{a@1:2: {b@1:7: null}, c@1:17: [true, -1.5]}"),
    ("- a: 1\n  b: |\n    text\n    more\n- !!str 5\n", "[{a@1:3: 1, b@2:3: \"text\\nmore\\n\"}, \"5\"]"),
    ("a: \"t\\u00e9\\0\"  # comment\n", "{a@1:1: \"té\\u{0}\"}"),
    ("%YAML 1.2\n---\na: &anchor 1\n...\n", "{a@3:1: 1}"),
    ("é: 1\nü: {ö: 2}", "{é@1:1: 1, ü@2:1: {ö@2:5: 2}}"),
    ("\u{feff}a: 1", "{a@1:1: 1}"),
  ])
  func buildsTheTree(text: String, expected: String) throws {
    #expect(try show(YAMLDocument(parsing: Array(text.utf8)).root) == expected)
  }

  @Test(arguments: [
    ("", "1:1: the document is empty"),
    ("# only a comment\n", "1:1: the document is empty"),
    ("a: [1", "2:1: a: not YAML: did not find expected ',' or ']' (while parsing a flow sequence)"),
    ("a: 1\n b: 2", "2:3: not YAML: mapping values are not allowed in this context"),
    ("a: 1\n---\nb: 2", "2:1: a second document begins here; only one is read"),
    ("a: &x 1\nb: [*x]", "2:5: b[0]: aliases (*name) are not supported; repeat the value"),
    ("a: !thing 1", "1:4: a: tags (!name) are not supported; leave it out, or put a text with ! in quotes"),
    ("a: !!int 1", "1:4: a: tags (!name) are not supported; leave it out, or put a text with ! in quotes"),
    ("? [a]\n: 1", "1:3: a key must be a plain or quoted string"),
    ("a: 1\nb: \u{1}", "2:4: not YAML: control characters are not allowed"),
  ])
  func saysWhereItIsWrong(text: String, expected: String) {
    #expect(problem(Array(text.utf8)) == expected)
  }

  @Test func refusesBytesThatAreNotUTF8() {
    #expect(problem([0x61, 0x0a, 0x62, 0xff, 0x63]) == "2:2: not YAML: invalid leading UTF-8 octet")
  }

  @Test func aSecondKeyOfTheSameNameIsAProblem() throws {
    let document = try YAMLDocument(parsing: Array("a: 1\nb: {c: 1, c: 2}\na: 3\n".utf8))
    #expect(
      document.problems.map { $0.description(file: "f") } == [
        "f:2:11: b.c: duplicate key; first given at line 2", "f:3:1: a: duplicate key; first given at line 1",
      ])
    #expect(show(document.root) == "{a@1:1: 1, b@2:1: {c@2:5: 1}}")
  }

  @Test func limitsHold() {
    var limits = YAMLLimits()
    limits.bytes = 10
    #expect(problem(Array("a: 12345678".utf8), limits) == "is 11 bytes long; at most 10 are read")
    limits = YAMLLimits()
    limits.nodes = 3
    #expect(problem(Array("[1,2]".utf8), limits) == nil)
    #expect(problem(Array("[1,2,3]".utf8), limits) == "1:6: [2]: more than 3 values in one document")
    limits = YAMLLimits()
    limits.depth = 2
    #expect(problem(Array("[[1]]".utf8), limits) == nil)
    #expect(problem(Array("[[[1]]]".utf8), limits) == "1:4: [0][0][0]: nested deeper than 2 levels")
    let deep = [UInt8](repeating: UInt8(ascii: "["), count: 500_000)
    #expect(problem(deep)?.hasSuffix("nested deeper than 32 levels") == true)
  }

  @Test func namesTheTab() {
    for comment in ["", "# h\u{E4}lt die \u{1F50C} f\u{FC}r \u{4F60}\u{597D}", "\u{FEFF}# \u{E4}"] {
      let text = "\(comment)\na:\n\tb: 1\n"
      #expect(problem(Array(text.utf8)) == "3:1: a: a tab can't indent YAML; use spaces", "\(comment)")
    }
  }

  @Test func columnsCountCharacters() {
    #expect(problem(Array("# \u{E4}\u{4F60}\na: \u{FC}\u{FC}".utf8) + [0xFF])?.hasPrefix("2:6: ") == true)
  }

  /// Whatever the bytes, an answer comes. The mutations start from text that reaches every part of the grammar.
  @Test func survivesAnyBytes() {
    let seed = Array(
      "%YAML 1.2\n---\nroutes: [{a: \"\\u0041\", 'b': |-\n x, ? c : *d}]\n- &e !!str >2\n   f\n...\n".utf8)
    var random = Xorshift(state: 42)
    for _ in 0..<20_000 {
      var bytes = seed
      for _ in 0..<(1 + random.next() % 8) {
        let index = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[index] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: index)
        default: bytes.insert(seed[Int(random.next() % UInt64(seed.count))], at: index)
        }
      }
      _ = problem(bytes)
    }
  }

  private func problem(_ bytes: [UInt8], _ limits: YAMLLimits = YAMLLimits()) -> String? {
    do {
      _ = try YAMLDocument(parsing: bytes, limits: limits)
      return nil
    } catch {
      return String(error.description(file: "").dropFirst(error.position == nil ? 2 : 1))
    }
  }

  private func show(_ node: YAMLNode) -> String {
    switch node.content {
    case .sequence(let nodes): "[\(nodes.map(show).joined(separator: ", "))]"
    case .mapping(let entries):
      "{"
        + entries.map { "\($0.key)@\($0.keyPosition.line):\($0.keyPosition.column): \(show($0.value))" }
        .joined(separator: ", ") + "}"
    case .scalar(let scalar):
      switch scalar.value {
      case .null: "null"
      case .bool(let value): "\(value)"
      case .integer(let value): "\(value)"
      case .float(let value): "\(value)"
      case .string(let value): value.debugDescription.replacing("\\0", with: "\\u{0}")
      }
    }
  }
}

struct Xorshift: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
