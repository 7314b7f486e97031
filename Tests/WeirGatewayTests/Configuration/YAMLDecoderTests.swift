import Testing
import WeirGateway

@Suite struct YAMLDecoderTests {
  struct Inner: Decodable, Equatable {
    var number: Int
    var text: String?
  }

  struct Outer: Decodable, Equatable {
    var flag: Bool
    var inner: Inner
    var list: [Double]?
    var map: [String: Inner]?
    var small: UInt8?
  }

  enum Color: String, Decodable {
    case red
  }

  @Test func decodesWhatTheTypeAsksFor() throws {
    let text = "flag: true\ninner: {number: 3, text: '4'}\nlist: [1, 2.5]\nmap: {x: {number: 0x10}}\nsmall: 255\n"
    let (value, problems) = try decode(Outer.self, text)
    #expect(problems == [])
    #expect(
      value
        == Outer(
          flag: true, inner: Inner(number: 3, text: "4"), list: [1, 2.5], map: ["x": Inner(number: 16)], small: 255))
  }

  @Test(arguments: [
    ("inner: {number: 1}", "1:1: flag: is missing"),
    ("flag: true\ninner: {}", "2:8: inner.number: is missing"),
    ("flag: yes\ninner: {number: 1}", "1:7: flag: expected true or false, found the string \"yes\""),
    ("flag: true\ninner: [1]", "2:8: inner: expected a mapping (key: value), found a list"),
    ("flag: true\ninner: {number: '1'}", "2:17: inner.number: expected a whole number, found the string \"1\""),
    ("flag: true\ninner: {number: 1.0}", "2:17: inner.number: expected a whole number, found the number 1.0"),
    (
      "flag: true\ninner: {number: 1, text: 5}",
      "2:26: inner.text: expected a string, found the number 5; write it in quotes"
    ),
    ("flag: true\ninner: {number: 1}\nlist: [1, x]", "3:11: list[1]: expected a number, found the string \"x\""),
    ("flag: true\ninner: {number: 1}\nlist: 5", "3:7: list: expected a list (- item), found the number 5"),
    (
      "flag: true\ninner: {number: 1}\nsmall: 256",
      "3:8: small: expected a whole number from 0 to 255, found the number 256"
    ),
    ("flag: true\ninner: {number: 1}\nmap: {\"a b\": {}}", "3:14: map[\"a b\"].number: is missing"),
    ("flag: null\ninner: {number: 1}", "1:7: flag: expected true or false, found nothing"),
    ("flag: true\ninner: {number: 1}\nlist:", "3:6: list: expected a list (- item), found nothing"),
    ("flag: true\ninner: {number: 1, text: ~}", "2:26: inner.text: expected a string, found nothing"),
    ("- 1", "1:1: expected a mapping (key: value), found a list"),
  ])
  func saysWhatIsWrong(text: String, expected: String) throws {
    let (value, problems) = try decode(Outer.self, text)
    #expect(value == nil)
    #expect(problems == ["f:" + expected])
  }

  @Test(arguments: [
    ("flg: 1", "3:1: flg: unknown key; known keys are flag, inner, list, map, small"),
    ("lists: 1", "3:1: lists: unknown key; did you mean \"list\"?"),
    ("samll: 1", "3:1: samll: unknown key; did you mean \"small\"?"),
    ("map: {x: {number: 1, tex: a}}", "3:22: map.x.tex: unknown key; did you mean \"text\"?"),
  ])
  func refusesKeysThatNobodyAskedFor(line: String, expected: String) throws {
    let (_, problems) = try decode(Outer.self, "flag: true\ninner: {number: 1}\n\(line)")
    #expect(problems == ["f:" + expected])
  }

  @Test func problemsOfOtherDecodersAreLocated() throws {
    struct Paint: Decodable { var colors: [Color] }
    let (_, problems) = try decode(Paint.self, "colors:\n  - red\n  - green")
    #expect(problems.count == 1)
    #expect(problems.first?.hasPrefix("f:3:5: colors[1]: ") == true)
  }

  private func decode<T: Decodable>(_ type: T.Type, _ text: String) throws -> (T?, [String]) {
    let (value, problems) = YAMLDecoder(try YAMLDocument(parsing: Array(text.utf8))).decode(type)
    return (value, problems.map { $0.description(file: "f") })
  }
}
