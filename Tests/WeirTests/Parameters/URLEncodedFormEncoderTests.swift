import Foundation
import Testing

@testable import Weir

@Suite("§14 Form encoder") struct URLEncodedFormEncoderTests {
  static let unescaped = CharacterSet(charactersIn: "\0"..."\u{7F}")

  /// Encodes with brackets left as they are, which reads better.
  static func text(_ value: any Encodable, _ encoder: URLEncodedFormEncoder = URLEncodedFormEncoder()) throws -> String
  {
    encoder.allowedCharacters = unescaped
    return try encoder.encode(value)
  }

  struct Child: Encodable, Sendable {
    var y = "2"
    var x = 1
  }

  struct Parent: Encodable, Sendable {
    var child = Child()
    var list = [Child()]
    var name = "n"
  }

  @Test(
    arguments: [
      (["a": 1], "a=1"),
      (["b": 1, "a": 2], "a=2&b=1"),
      (["a": ["b": ["c": 1]]], "a[b][c]=1"),
      (["a": [3, 1, 2]], "a[]=3&a[]=1&a[]=2"),
      (["a": [[1], [2]]], "a[][]=1&a[][]=2"),
      (Parent(), "child[x]=1&child[y]=2&list[][x]=1&list[][y]=2&name=n"),
      (["a": [Int]()], ""),
      ([String: Int](), ""),
      (["a": [[:], ["b": 1]]], "a[][b]=1"),
      (["a": 1.0], "a=1.0"), (["a": Float(1.5)], "a=1.5"), (["a": 1e30], "a=1e+30"),
      (["a": Decimal(string: "1.123456")], "a=1.123456"),
      (["a": UInt64.max], "a=18446744073709551615"), (["a": Int8.min], "a=-128"),
      (["a": Int128.max], "a=170141183460469231731687303715884105727"),
      (["a": URL(string: "http://h/?q")], "a=http://h/?q"),
      (["a": "x=y&z"], "a=x=y&z"),
      ([1: "a", 2: "b"], "1=a&2=b"),
    ] as [(any Encodable & Sendable, String)])
  func values(value: any Encodable & Sendable, text: String) throws {
    #expect(try Self.text(value) == text)
  }

  @Test func dataIsTheText() throws {
    let data: Data = try URLEncodedFormEncoder().encode(["a": "ü"])
    #expect(data == Data("a=%C3%BC".utf8))
  }

  @Test func orderOfEncodingIsKeptOnRequest() throws {
    let encoder = URLEncodedFormEncoder(alphabetizeKeyValuePairs: false)
    #expect(
      try Self.text(Parent(), encoder) == "child[y]=2&child[x]=1&list[][y]=2&list[][x]=1&name=n")
    #expect(try Self.text(["a": [3, 1, 2]], encoder) == "a[]=3&a[]=1&a[]=2")
  }

  @Test(
    arguments: [
      ([1, 2], #"["1", "2"]"#), ("text", #""text""#), (1, #""1""#), (true, #""1""#),
      ([Child()], #"[["#), (Data([1]), #""AQ==""#), (URL(fileURLWithPath: "/a"), #""file:///a""#), (1.5, #""1.5""#),
      ([String](), "[]"),
    ] as [(any Encodable & Sendable, String)])
  func rootsWithoutKeys(value: any Encodable & Sendable, description: String) throws {
    let error = try #require(throws: URLEncodedFormEncoder.Error.self) { try Self.text(value) }
    guard case .invalidRootObject(let text) = error else { return }
    #expect(text.hasPrefix(description))
    #expect(error.errorDescription?.contains(text) == true)
  }

  @Test func arrays() throws {
    let value = ["a": [1, 2]]
    #expect(try Self.text(value, URLEncodedFormEncoder(arrayEncoding: .noBrackets)) == "a=1&a=2")
    #expect(try Self.text(value, URLEncodedFormEncoder(arrayEncoding: .indexInBrackets)) == "a[0]=1&a[1]=2")
    let custom = URLEncodedFormEncoder(arrayEncoding: .custom { "\($0)_\($1)" })
    #expect(try Self.text(["a": [[1]]], custom) == "a_0_0=1")
  }

  /// A server gets the list that was given: no element moves, at no level, and the keys of each are sorted.
  @Test func elementsKeepTheirOrder() throws {
    #expect(try Self.text(["ids": ["30", "4", "100"]]) == "ids[]=30&ids[]=4&ids[]=100")
    #expect(try Self.text(["b": [[3, 1], [2, 0]], "a": [[9]]]) == "a[][]=9&b[][]=3&b[][]=1&b[][]=2&b[][]=0")
    let dictionaries = ["l": [["y": [2, 1], "x": [9]], ["x": [8]], ["y": [0]]]]
    #expect(try Self.text(dictionaries) == "l[][x][]=9&l[][y][]=2&l[][y][]=1&l[][x][]=8&l[][y][]=0")
    #expect(try Self.text(["a": ["z": [2, 1], "y": [4, 3]]]) == "a[y][]=4&a[y][]=3&a[z][]=2&a[z][]=1")
    let flat = URLEncodedFormEncoder(arrayEncoding: .noBrackets)
    #expect(try Self.text(["b": [3, 1], "a": [2, 0]], flat) == "a=2&a=0&b=3&b=1")
    let indexed = URLEncodedFormEncoder(arrayEncoding: .indexInBrackets)
    let twelve = (0..<12).map { "a[\($0)]=\(11 - $0)" }.joined(separator: "&")
    #expect(try Self.text(["a": (0..<12).reversed()], indexed) == twelve)
  }

  @Test func booleans() throws {
    let value = ["a": [true, false]]
    #expect(try Self.text(value) == "a[]=1&a[]=0")
    #expect(try Self.text(value, URLEncodedFormEncoder(boolEncoding: .literal)) == "a[]=true&a[]=false")
    #expect(try Self.text(["a": 1], URLEncodedFormEncoder(boolEncoding: .literal)) == "a=1")
  }

  @Test func data() throws {
    let value = ["d": Data([1, 2, 255])]
    #expect(try URLEncodedFormEncoder().encode(["d": Data("a".utf8)]) as String == "d=YQ%3D%3D")
    #expect(try Self.text(value) == "d=AQL/")
    let deferred = URLEncodedFormEncoder(dataEncoding: .deferredToData)
    #expect(try Self.text(value, deferred) == "d[]=1&d[]=2&d[]=255")
    let custom = URLEncodedFormEncoder(dataEncoding: .custom { "\($0.count)" })
    #expect(try Self.text(value, custom) == "d=3")
  }

  @Test func dates() throws {
    let value = ["d": Date(timeIntervalSinceReferenceDate: 123.456)]
    #expect(try Self.text(value) == "d=123.456")
    #expect(try Self.text(value, URLEncodedFormEncoder(dateEncoding: .secondsSince1970)) == "d=978307323.456")
    #expect(try Self.text(value, URLEncodedFormEncoder(dateEncoding: .millisecondsSince1970)) == "d=978307323456.0")
    #expect(try Self.text(value, URLEncodedFormEncoder(dateEncoding: .iso8601)) == "d=2001-01-01T00:02:03Z")
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyy.MM"
    #expect(try Self.text(value, URLEncodedFormEncoder(dateEncoding: .formatted(formatter))) == "d=2001.01")
    #expect(try Self.text(value, URLEncodedFormEncoder(dateEncoding: .custom { _ in "now" })) == "d=now")
  }

  @Test func customClosuresErrorsPassThrough() {
    let dates = URLEncodedFormEncoder(dateEncoding: .custom { _ in throw SampleError() })
    #expect(throws: SampleError()) { try Self.text(["a": Date()], dates) }
    let data = URLEncodedFormEncoder(dataEncoding: .custom { _ in throw SampleError() })
    #expect(throws: SampleError()) { try Self.text(["a": Data()], data) }
  }

  struct Named: Encodable {
    enum CodingKeys: String, CodingKey { case nested = "oneTwo" }
    struct Nested: Encodable { var threeFour = 1 }
    var nested = Nested()
  }

  @Test(
    arguments: [
      (.useDefaultKeys, "oneTwo[threeFour]=1"), (.convertToSnakeCase, "one_two[three_four]=1"),
      (.convertToKebabCase, "one-two[three-four]=1"), (.capitalized, "OneTwo[threeFour]=1"),
      (.uppercased, "ONETWO[THREEFOUR]=1"), (.lowercased, "onetwo[threefour]=1"),
      (.custom { "<\($0)>" }, "<oneTwo[threeFour]>=1"),
    ] as [(URLEncodedFormEncoder.KeyEncoding, String)])
  func keys(encoding: URLEncodedFormEncoder.KeyEncoding, text: String) throws {
    #expect(try Self.text(Named(), URLEncodedFormEncoder(keyEncoding: encoding)) == text)
  }

  @Test("The whole key path is encoded, what stands for arrays included")
  func keysWithArrays() throws {
    let value = ["oneTwo": [["threeFour": [1]]]]
    #expect(try Self.text(value, URLEncodedFormEncoder(keyEncoding: .uppercased)) == "ONETWO[][THREEFOUR][]=1")
    let snake = URLEncodedFormEncoder(
      arrayEncoding: .indexInBrackets, keyEncoding: .convertToSnakeCase, keyPathEncoding: .dots)
    #expect(try Self.text(value, snake) == "one_two[0].three_four[0]=1")
  }

  @Test("The pairs of an object are sorted as text")
  func sortedAsText() throws {
    #expect(try Self.text(["a": ["b": 1], "a-": ["c": 2]]) == "a-[c]=2&a[b]=1")
    #expect(try Self.text(["a": ["2": 2, "10": 10]]) == "a[10]=10&a[2]=2")
  }

  struct Wrapped<Value: Encodable & Sendable>: Encodable, Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value)
    }
  }

  @Test("Options hold wherever a value stands: in optionals, arrays, and behind wrappers")
  func optionsEverywhere() throws {
    let encoder = URLEncodedFormEncoder(
      boolEncoding: .literal, dataEncoding: .custom { "\($0.count)" }, dateEncoding: .secondsSince1970)
    func text(_ value: any Encodable) throws -> String { try Self.text(value, encoder) }
    let date = Date(timeIntervalSince1970: 5)
    #expect(try text(["a": date as Date?]) == "a=5.0")
    #expect(try text(["a": [date as Date??]]) == "a[]=5.0")
    #expect(try text(["a": Wrapped(date)]) == "a=5.0")
    #expect(try text(["a": Wrapped(date as Date?)]) == "a=5.0")
    #expect(try text(["a": true as Bool?]) == "a=true")
    #expect(try text(["a": [Wrapped(true)]]) == "a[]=true")
    #expect(try text(["a": Data(count: 3) as Data?]) == "a=3")
    #expect(try text(["a": Wrapped(Wrapped(Data(count: 3)))]) == "a=3")
    #expect(try text(Wrapped(["a": Decimal(string: "1.123456")])) == "a=1.123456")
  }

  @Test("A nil behind a wrapper is a nil")
  func wrappedNil() throws {
    let value = ["a": Wrapped(nil as Int?), "b": Wrapped(1)]
    #expect(try Self.text(value) == "b=1")
    #expect(try Self.text(value, URLEncodedFormEncoder(nilEncoding: .dropValue)) == "a=&b=1")
    #expect(try Self.text(value, URLEncodedFormEncoder(nilEncoding: .null)) == "a=null&b=1")
    #expect(try Self.text(["a": [Wrapped(nil as Int?), Wrapped(1)]]) == "a[]=1")
  }

  @Test func keyPaths() throws {
    #expect(try Self.text(Named(), URLEncodedFormEncoder(keyPathEncoding: .dots)) == "oneTwo.threeFour=1")
    let custom = URLEncodedFormEncoder(keyPathEncoding: .init { "->\($0)" })
    #expect(try Self.text(Named(), custom) == "oneTwo->threeFour=1")
    #expect(
      try Self.text(Parent(), URLEncodedFormEncoder(keyPathEncoding: .dots)).hasPrefix("child.x=1&child.y=2&list[].x=1")
    )
  }

  struct Optionals: Encodable {
    var a: Int?
    var b: String? = "x"
    var c: Child?
    var d: [Int?] = [1, nil]
    var e: [String: Int?] = ["k": nil]
  }

  struct ExplicitNil: Encodable {
    enum CodingKeys: CodingKey { case a, b, c, d }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encodeNil(forKey: .a)
      try container.encode(Int?.none, forKey: .b)
      try container.encodeIfPresent(Bool?.none, forKey: .c)
      try container.encodeIfPresent(Date?.none, forKey: .d)
    }
  }

  @Test func nils() throws {
    #expect(try Self.text(Optionals()) == "b=x&d[]=1")
    #expect(
      try Self.text(Optionals(), URLEncodedFormEncoder(nilEncoding: .dropValue)) == "a=&b=x&c=&d[]=1&d[]=&e[k]=")
    #expect(
      try Self.text(Optionals(), URLEncodedFormEncoder(nilEncoding: .null))
        == "a=null&b=x&c=null&d[]=1&d[]=null&e[k]=null")
    #expect(try Self.text(ExplicitNil()) == "")
    let custom = URLEncodedFormEncoder(nilEncoding: .init { "none" })
    #expect(try Self.text(ExplicitNil(), custom) == "a=none&b=none&c=none&d=none")
  }

  struct AllOptional: Encodable {
    var a: Bool?, b: String?, c: Double?, d: Float?, e: Int?, f: Int8?, g: Int16?, h: Int32?, i: Int64?, j: UInt?
    var k: UInt8?, l: UInt16?, m: UInt32?, n: UInt64?, o: Int128?, p: UInt128?, q: Date?
  }

  @Test func everySynthesizedOptionalAsksHowNilIsWritten() throws {
    let text = try Self.text(AllOptional(), URLEncodedFormEncoder(nilEncoding: .dropValue))
    #expect(text == "abcdefghijklmnopq".map { "\($0)=" }.joined(separator: "&"))
  }

  @Test func spaces() throws {
    let value = ["a b": "c d+e"]
    #expect(try URLEncodedFormEncoder().encode(value) as String == "a%20b=c%20d%2Be")
    #expect(try URLEncodedFormEncoder(spaceEncoding: .plusReplaced).encode(value) as String == "a+b=c+d%2Be")
  }

  @Test func allowedCharactersMayChange() throws {
    let encoder = URLEncodedFormEncoder(allowedCharacters: .alphanumerics)
    #expect(try encoder.encode(["a": "-ü"]) as String == "a=%2D%C3%BC")
    encoder.allowedCharacters.insert("-")
    #expect(try encoder.encode(["a": "-ü"]) as String == "a=-%C3%BC")
    #expect(encoder.allowedCharacters.contains("-"))
  }
}
