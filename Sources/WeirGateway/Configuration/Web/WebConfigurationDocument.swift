/// A web configuration as written, in the words of exporter-toolkit.
struct WebConfigurationDocument: Decodable, Sendable {
  let basicAuthUsers: Located<Users>?
  let bearerTokens: Located<Tokens>?
  let httpServerConfig: Located<HTTPServerDocument>?
  let tlsServerConfig: Located<Anything>?
  let rateLimit: Located<Anything>?

  private enum CodingKeys: String, CodingKey {
    case basicAuthUsers = "basic_auth_users"
    case bearerTokens = "bearer_tokens"
    case httpServerConfig = "http_server_config"
    case tlsServerConfig = "tls_server_config"
    case rateLimit = "rate_limit"
  }

  /// Names and their hashes.
  struct Users: Decodable, Sendable {
    let entries: [(key: String, value: Located<Secret>)]

    init(from decoder: any Decoder) throws {
      entries = try WebConfigurationDocument.isNull(decoder) ? [] : LocatedMap<Secret>(from: decoder).entries
      if entries.isEmpty { throw WebConfigurationDocument.nobody(decoder) }
    }
  }

  struct Tokens: Decodable, Sendable {
    let elements: [Located<Secret>]

    init(from decoder: any Decoder) throws {
      elements = try WebConfigurationDocument.isNull(decoder) ? [] : [Located<Secret>](from: decoder)
      if elements.isEmpty { throw WebConfigurationDocument.nobody(decoder) }
    }
  }

  private static func isNull(_ decoder: any Decoder) throws -> Bool {
    try decoder.singleValueContainer().decodeNil()
  }

  /// Whoever writes the key means to ask, and without an entry all would be let in.
  private static func nobody(_ decoder: any Decoder) -> DecodingError {
    DecodingError.dataCorrupted(
      DecodingError.Context(
        codingPath: decoder.codingPath,
        debugDescription: "is empty, so nobody could log in; leave the key out to let everybody in"))
  }

  /// What is there, whatever it is.
  struct Anything: Decodable, Sendable {
    init(from decoder: any Decoder) throws {}
  }

  /// A string that no error text repeats.
  struct Secret: Decodable, Sendable {
    let text: String

    init(from decoder: any Decoder) throws {
      guard let text = try? decoder.singleValueContainer().decode(String.self) else {
        throw DecodingError.dataCorrupted(
          DecodingError.Context(
            codingPath: decoder.codingPath, debugDescription: "expected a string; write it in quotes"))
      }
      self.text = text
    }
  }
}

struct HTTPServerDocument: Decodable, Sendable {
  let headers: Located<LocatedMap<String>>?
  /// Without TLS exporter-toolkit speaks HTTP/1.1 whatever this says, and so do we.
  let http2: Located<Bool>?
}
