import Foundation
import Testing

@testable import Weir

/// Encodable values that use their encoder in unusual ways.
@Suite("§14 Form encoder: containers") struct FormContainersTests {
  struct Encoding: Encodable {
    enum Key: String, CodingKey { case a, b, c }
    let body: (any Encoder) throws -> Void
    func encode(to encoder: any Encoder) throws { try body(encoder) }
  }

  static func text(_ body: @escaping (any Encoder) throws -> Void) throws -> String {
    try URLEncodedFormEncoderTests.text(Encoding(body: body))
  }

  class Base: Encodable {
    var base = 1
  }

  final class Derived: Base {
    enum CodingKeys: CodingKey { case derived, other }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(2, forKey: .derived)
      try super.encode(to: container.superEncoder())
      try super.encode(to: container.superEncoder(forKey: .other))
    }
  }

  final class Flat: Base {
    enum CodingKeys: CodingKey { case derived }
    override func encode(to encoder: any Encoder) throws {
      try super.encode(to: encoder)
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(2, forKey: .derived)
    }
  }

  @Test func superclasses() throws {
    #expect(try URLEncodedFormEncoderTests.text(Derived()) == "base=1&derived=2&other[base]=1")
    #expect(try URLEncodedFormEncoderTests.text(Flat()) == "base=1&derived=2")
  }

  @Test func nestedContainersInAnyMix() throws {
    let text = try Self.text { encoder in
      var root = encoder.container(keyedBy: Encoding.Key.self)
      var array = root.nestedUnkeyedContainer(forKey: .a)
      try array.encode(1)
      var keyed = array.nestedContainer(keyedBy: Encoding.Key.self)
      try keyed.encode("x", forKey: .b)
      var inner = array.nestedUnkeyedContainer()
      try inner.encode(true)
      try inner.encodeNil()
      #expect(inner.count == 1)
      #expect(array.count == 3)
      var single = array.superEncoder().singleValueContainer()
      try single.encode(2.5)
      var object = root.nestedContainer(keyedBy: Encoding.Key.self, forKey: .b)
      try object.encode(1, forKey: .a)
      var again = root.nestedContainer(keyedBy: Encoding.Key.self, forKey: .b)
      try again.encode(2, forKey: .c)
    }
    #expect(text == "a[]=1&a[][b]=x&a[][]=1&a[]=2.5&b[a]=1&b[c]=2")
  }

  @Test func singleValueContainers() throws {
    let values: [(inout any SingleValueEncodingContainer) throws -> Void] = [
      { try $0.encode(true) }, { try $0.encode("s") }, { try $0.encode(1.5) }, { try $0.encode(Float(1.5)) },
      { try $0.encode(1) }, { try $0.encode(Int8(1)) }, { try $0.encode(Int16(1)) }, { try $0.encode(Int32(1)) },
      { try $0.encode(Int64(1)) }, { try $0.encode(UInt(1)) }, { try $0.encode(UInt8(1)) },
      { try $0.encode(UInt16(1)) }, { try $0.encode(UInt32(1)) }, { try $0.encode(UInt64(1)) },
      { try $0.encode(Int128(1)) }, { try $0.encode(UInt128(1)) }, { try $0.encode(["k": 1]) },
      { try $0.encodeNil() }, { try $0.encode(Date(timeIntervalSinceReferenceDate: 1)) },
    ]
    let texts = try values.map { value in
      try Self.text { encoder in
        var root = encoder.container(keyedBy: Encoding.Key.self)
        var container: any SingleValueEncodingContainer = root.superEncoder(forKey: .a).singleValueContainer()
        try value(&container)
      }
    }
    #expect(
      texts == ["a=1", "a=s", "a=1.5", "a=1.5"] + Array(repeating: "a=1", count: 12) + ["a[k]=1", "", "a=1.0"])
  }

  @Test func aSecondValueInASingleValueContainerIsAnError() {
    #expect(throws: EncodingError.self) {
      try Self.text { encoder in
        var container = encoder.singleValueContainer()
        try container.encode(1)
        try container.encode(2)
      }
    }
    #expect(throws: EncodingError.self) {
      try Self.text { encoder in
        var container = encoder.singleValueContainer()
        try container.encode(["a": 1])
        try container.encode(["b": 1])
      }
    }
  }

  @Test("Of two kinds of containers for one value the last wins")
  func mixedKindsOfContainers() throws {
    #expect(throws: URLEncodedFormEncoder.Error.invalidRootObject(#"["1"]"#)) {
      try Self.text { encoder in
        var container = encoder.container(keyedBy: Encoding.Key.self)
        try container.encode(1, forKey: .a)
        var array = encoder.unkeyedContainer()
        try array.encode(1)
      }
    }
    let keyedLast = try Self.text { encoder in
      var array = encoder.unkeyedContainer()
      try array.encode(1)
      var container = encoder.container(keyedBy: Encoding.Key.self)
      try container.encode(1, forKey: .a)
    }
    #expect(keyedLast == "a=1")
    let underOneKey = try Self.text { encoder in
      var root = encoder.container(keyedBy: Encoding.Key.self)
      var keyed = root.nestedContainer(keyedBy: Encoding.Key.self, forKey: .a)
      try keyed.encode(1, forKey: .b)
      var array = root.nestedUnkeyedContainer(forKey: .a)
      try array.encode(2)
      try root.encode(3, forKey: .b)
      var second = root.nestedUnkeyedContainer(forKey: .b)
      try second.encode(4)
      var third = root.nestedContainer(keyedBy: Encoding.Key.self, forKey: .c)
      try third.encode(5, forKey: .a)
      try root.encode(6, forKey: .c)
    }
    #expect(underOneKey == "a[]=2&b[]=4&c=6")
  }

  /// The two classes of Alamofire's own tests that ask for containers under a key that has one.
  @Test("A container that is asked for again under a key keeps what the first one got")
  func containersAskedForAgain() throws {
    let superclasses = try Self.text { encoder in
      var root = encoder.container(keyedBy: Encoding.Key.self)
      try root.encode([1, 2, 3], forKey: .a)
      var whole = root.superEncoder().container(keyedBy: Encoding.Key.self)
      try whole.encode("one", forKey: .a)
      var underKey = root.superEncoder(forKey: .a).container(keyedBy: Encoding.Key.self)
      try underKey.encode(2, forKey: .b)
      var array = root.nestedUnkeyedContainer(forKey: .a)
      #expect(array.count == 0)
      var ofArray = array.superEncoder().container(keyedBy: Encoding.Key.self)
      try ofArray.encode("one", forKey: .a)
    }
    #expect(superclasses == "a[a]=one&a[b]=2")
    let unwritten = try Self.text { encoder in
      var root = encoder.container(keyedBy: Encoding.Key.self)
      var keyed = root.nestedContainer(keyedBy: Encoding.Key.self, forKey: .a)
      try keyed.encode(1, forKey: .b)
      _ = root.nestedUnkeyedContainer(forKey: .a)
      var array = root.nestedUnkeyedContainer(forKey: .b)
      try array.encode(2)
      _ = root.nestedContainer(keyedBy: Encoding.Key.self, forKey: .b)
      try root.encode(3, forKey: .c)
      _ = root.nestedUnkeyedContainer(forKey: .c)
    }
    #expect(unwritten == "a[b]=1&b[]=2&c=3")
    let supers = try Self.text { encoder in
      var root = encoder.container(keyedBy: Encoding.Key.self)
      var first = root.superEncoder(forKey: .a).container(keyedBy: Encoding.Key.self)
      try first.encode(1, forKey: .a)
      var second = root.superEncoder(forKey: .a).container(keyedBy: Encoding.Key.self)
      try second.encode(2, forKey: .b)
      try root.encode(3, forKey: .b)
      var value = root.superEncoder(forKey: .b).singleValueContainer()
      try value.encode(4)
    }
    #expect(supers == "a[a]=1&a[b]=2&b=4")
  }

  @Test("A key that comes again replaces")
  func repeatedKeys() throws {
    let text = try Self.text { encoder in
      var root = encoder.container(keyedBy: Encoding.Key.self)
      try root.encode(1, forKey: .a)
      try root.encode(["x": 1], forKey: .b)
      try root.encode(2, forKey: .a)
      try root.encode(["y": 2], forKey: .b)
      try root.encode(3, forKey: .c)
      try root.encodeNil(forKey: .c)
    }
    #expect(text == "a=2&b[y]=2")
  }

  @Test("A nil at the root is nothing, whatever stands for nil elsewhere")
  func nilRoot() throws {
    let some: Int? = nil
    let nested: [String: Int]?? = .some(nil)
    for encoder in [URLEncodedFormEncoder(), URLEncodedFormEncoder(nilEncoding: .null)] {
      let texts: [String] = [try encoder.encode(some), try encoder.encode(nested)]
      #expect(texts == ["", ""])
    }
    let present: [String: Int]? = ["a": 1]
    let text: String = try URLEncodedFormEncoder().encode(present)
    #expect(text == "a=1")
  }

  @Test func codingPathsNameWhereAValueIs() throws {
    var paths: [[String]] = []
    let value = Encoding { encoder in
      var root = encoder.container(keyedBy: Encoding.Key.self)
      var array = root.nestedUnkeyedContainer(forKey: .a)
      try array.encode(0)
      try array.encode(Encoding { paths.append($0.codingPath.map(\.stringValue)) })
      paths.append(root.superEncoder().codingPath.map(\.stringValue))
    }
    _ = try URLEncodedFormEncoderTests.text(value)
    #expect(paths == [["a", "1"], ["super"]])
  }

  @Test func nothingAtAllIsEmpty() throws {
    #expect(try Self.text { _ in } == "")
  }

  @Test func manyKeysAreFast() throws {
    let value = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ("k\($0)", $0) })
    #expect(try URLEncodedFormEncoderTests.text(value).split(separator: "&").count == 20_000)
  }
}
