import Weir
import WeirTestSupport

/// The httpbin that all tests share.
enum Bin {
  static let shared = Task { try await HTTPBin() }

  static func url(_ path: String) async throws -> String {
    try await shared.value.url(path)
  }
}

/// What httpbin says it was sent.
struct Echo<JSON: Decodable & Sendable>: Decodable, Sendable {
  let method: String
  let url: String
  let args: [String: Values]
  let form: [String: Values]
  let headers: [String: String]
  let data: String
  let json: JSON?

  /// One value, or several of one name.
  struct Values: Decodable, Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByArrayLiteral {
    let values: [String]

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      values = try (try? container.decode([String].self)) ?? [container.decode(String.self)]
    }

    init(stringLiteral value: String) { values = [value] }

    init(arrayLiteral elements: String...) { values = elements }
  }
}

/// An echo whose body is no JSON.
typealias PlainEcho = Echo<String>

struct Order: Codable, Sendable, Equatable {
  var title = "two words & \"quotes\" = ü/?"
  var tags = ["a", "b+c"]
  var size = Size()

  struct Size: Codable, Sendable, Equatable {
    var width = 3
    var isExact = true
  }
}
