import Testing

@testable import WeirGateway

@Suite struct ConfigurationReaderTests {
  struct Inner: Equatable {
    var number: Int?
    var text: String?
  }

  struct Outer: Equatable {
    var flag: Bool?
    var inner: Inner?
    var list: [Int] = []
    var map: [String: Inner] = [:]
    var pause: Duration?
    var small: Int?
  }

  @Test func readsWhatIsAskedFor() throws {
    let text = """
      flag: true
      inner: {number: 3, text: '4'}
      list: [1, 0o17]
      map: {x: {number: 0x10}}
      pause: 1.5
      small: 255
      """
    let (value, problems) = try read(text)
    #expect(problems == [])
    #expect(
      value
        == Outer(
          flag: true, inner: Inner(number: 3, text: "4"), list: [1, 15], map: ["x": Inner(number: 16)],
          pause: .milliseconds(1500), small: 255))
  }

  @Test(arguments: [
    ("inner: {number: 1}", "1:1: flag: is missing; say whether"),
    ("flag: true\ninner: {}", "2:8: inner.number: is missing; say how many"),
    ("flag: yes\ninner: {number: 1}", "1:7: flag: expected true or false, found the string \"yes\""),
    ("flag: true\ninner: [1]", "2:8: inner: expected a mapping (key: value), found a list"),
    ("flag: true\ninner: {number: '1'}", "2:17: inner.number: expected a whole number, found the string \"1\""),
    ("flag: true\ninner: {number: 1.0}", "2:17: inner.number: expected a whole number, found the number 1.0"),
    (
      "flag: true\ninner: {number: 1, text: 5}",
      "2:26: inner.text: expected a string, found the number 5; write it in quotes"
    ),
    (
      "flag: true\ninner: {number: 1, text: [a]}",
      "2:26: inner.text: expected a string, found a list"
    ),
    ("flag: true\ninner: {number: 1}\nlist: [1, x]", "3:11: list[1]: expected a whole number, found the string \"x\""),
    ("flag: true\ninner: {number: 1}\nlist: 5", "3:7: list: expected a list (- item), found the number 5"),
    ("flag: true\ninner: {number: 1}\nsmall: 256", "3:8: small: 256 is too many"),
    (
      "flag: true\ninner: {number: 1}\npause: soon",
      "3:8: pause: expected a duration such as 30s, 500ms or 1m30s, found the string \"soon\""
    ),
    (
      "flag: true\ninner: {number: 1}\npause: true",
      "3:8: pause: expected a duration such as 30s, 500ms or 1m30s, found the boolean true"
    ),
    ("flag: true\ninner: {number: 1}\nmap: {\"a b\": {}}", "3:14: map[\"a b\"].number: is missing; say how many"),
    ("flag: true\ninner: {number: 1}\nmap: [x]", "3:6: map: expected a mapping (key: value), found a list"),
    ("flag: null\ninner: {number: 1}", "1:7: flag: expected true or false, found nothing"),
    ("flag: true\ninner: {number: 1}\nlist:", "3:6: list: expected a list (- item), found nothing"),
    ("flag: true\ninner: {number: 1, text: ~}", "2:26: inner.text: expected a string, found nothing"),
    ("- 1", "1:1: expected a mapping (key: value), found a list"),
  ])
  func saysWhatIsWrong(text: String, expected: String) throws {
    #expect(try read(text).problems == ["f:" + expected])
  }

  @Test func saysAllThatIsWrong() throws {
    let text = "flag: 1\ninner: {nmber: 1, text: 5}\nlist: [a, 2, b]\nflag: 2\n"
    #expect(
      try read(text).problems == [
        "f:1:7: flag: expected true or false, found the number 1",
        "f:2:8: inner.number: is missing; say how many",
        "f:2:9: inner.nmber: unknown key; did you mean \"number\"?",
        "f:2:25: inner.text: expected a string, found the number 5; write it in quotes",
        "f:3:8: list[0]: expected a whole number, found the string \"a\"",
        "f:3:14: list[2]: expected a whole number, found the string \"b\"",
        "f:4:1: flag: duplicate key; first given at line 1",
      ])
  }

  @Test func repeatsNoValueThatIsASecret() throws {
    let (_, problems) = try read("flag: s3cret\ninner: {number: 1, text: 5}", quotesValues: false)
    #expect(
      problems == [
        "f:1:7: flag: expected true or false, found a string",
        "f:2:26: inner.text: expected a string, found a number; write it in quotes",
      ])
  }

  @Test(arguments: [
    ("flg: 1", "3:1: flg: unknown key; known keys are flag, inner, list, map, pause, small"),
    ("lists: 1", "3:1: lists: unknown key; did you mean \"list\"?"),
    ("samll: 1", "3:1: samll: unknown key; did you mean \"small\"?"),
    ("map: {x: {number: 1, tex: a}}", "3:22: map.x.tex: unknown key; did you mean \"text\"?"),
  ])
  func refusesKeysThatNobodyAskedFor(line: String, expected: String) throws {
    #expect(try read("flag: true\ninner: {number: 1}\n\(line)").problems == ["f:" + expected])
  }

  private func read(_ text: String, quotesValues: Bool = true) throws -> (value: Outer?, problems: [String]) {
    do {
      let value = try ConfigurationFile.parse(
        Array(text.utf8), file: "f", quotesValues: quotesValues, Self.outer.read)
      return (value, [])
    } catch {
      return (nil, error.problems.map { $0.description(file: error.file) })
    }
  }

  private static let number = ConfigurationForm<Int>(.integer(0...Int.max)) { $0.read(as: .integer) }

  private static let outer = ConfigurationMapping(Outer()) {
    Key("flag", .boolean, \.flag, missing: .required("say whether"))
    Key("inner", inner, \.inner)
    Key("list", .list(of: number), \.list)
    Key("map", .entries(of: inner.shape, 0...Int.max)) { reader, outer in
      for (name, value) in reader.entries() ?? [] { outer.map[name] = inner.read(value) }
      return true
    }
    Key("pause", ConfigurationForm<Duration>(.duration(0...1e9)) { $0.read(as: .duration) }, \.pause)
    Key("small", small, \.small)
  }.form()

  private static let small = ConfigurationForm<Int>(.integer(0...255)) { reader in
    reader.read(as: .integer) { $0 < 256 ? nil : "\($0) is too many" }
  }

  private static let inner = ConfigurationMapping(Inner()) {
    Key("number", number, \.number, missing: .required("say how many"))
    Key("text", .text(), \.text)
  }.form()
}
