import Foundation
import Testing

@testable import Weir

@Suite("§14 Form encoder: cases of keys") struct KeyCaseTests {
  @Test(arguments: [
    ("oneTwo", "one_two"), ("oneTwoThree", "one_two_three"), ("myURLProperty", "my_url_property"),
    ("_oneTwo_", "_one_two_"), ("URL", "u_rl"), ("a", "a"), ("", ""), ("A", "a"), ("one", "one"),
    ("oneTWO", "one_two"), ("aB1c", "a_b_1c"),
  ])
  func snakeCase(key: String, encoded: String) {
    #expect(URLEncodedFormEncoder.KeyEncoding.convertToSnakeCase.encode(key) == encoded)
    let kebab = encoded.replacingOccurrences(of: "_", with: "-")
    if key.contains("_") {
      #expect(URLEncodedFormEncoder.KeyEncoding.convertToKebabCase.encode(key) == "_one-two_")
    } else {
      #expect(URLEncodedFormEncoder.KeyEncoding.convertToKebabCase.encode(key) == kebab)
    }
  }

  struct Keyed: Encodable {
    let key: String
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: FormKey.self)
      try container.encode(1, forKey: FormKey(stringValue: key))
    }
  }

  @Test func agreesWithJSONEncoder() throws {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    var generator = SplitMix(state: 3)
    for _ in 0..<2000 {
      let key = String(
        (0..<Int.random(in: 1...12, using: &generator)).map { _ in
          "abABC_1é".randomElement(using: &generator) ?? "a"
        })
      let json = String(decoding: try encoder.encode(Keyed(key: key)), as: UTF8.self)
      #expect("{\"\(URLEncodedFormEncoder.KeyEncoding.convertToSnakeCase.encode(key))\":1}" == json, "\(key)")
    }
  }

  @Test(arguments: [("élan", "Élan"), ("aBC", "ABC"), ("", "")])
  func capitalized(key: String, encoded: String) {
    #expect(URLEncodedFormEncoder.KeyEncoding.capitalized.encode(key) == encoded)
  }
}
