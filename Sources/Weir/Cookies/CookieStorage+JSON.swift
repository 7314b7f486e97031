public import Foundation
import FoundationNetworking

extension CookieStorage {
  /// The cookies as a JSON document, to be kept somewhere and read by ``load(json:)``. Whoever reads it can do what their
  /// owner can: it belongs where others read nothing.
  ///
  /// - Parameter includingSessionCookies: Whether those without an expiry are in it too.
  public func json(includingSessionCookies: Bool = true) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(
      CookieDocument(version: 1, cookies: all.filter { includingSessionCookies || $0.expires != nil }))
  }

  /// Adds the cookies of such a document that have not expired, in place of those of the same name, domain and path, within
  /// the limits.
  ///
  /// Throws a `DecodingError`, and adds none, when it is no such document or holds what is no cookie.
  public func load(json: Data) throws {
    set(try JSONDecoder().decode(CookieDocument.self, from: json).cookies.filter { !$0.isExpired(Self.now) })
  }
}

/// The order of the cookies is that of their age.
private struct CookieDocument: Codable {
  let version: Int
  let cookies: [Cookie]

  init(version: Int, cookies: [Cookie]) {
    self.version = version
    self.cookies = cookies
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    version = try container.decode(Int.self, forKey: .version)
    guard version == 1 else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: container, debugDescription: "only version 1 can be read, not \(version)")
    }
    cookies = try container.decode([Cookie].self, forKey: .cookies)
  }
}

extension Cookie: Codable {
  private enum CodingKeys: String, CodingKey {
    case name, value, domain, isHostOnly, path, expires, isSecure, isHTTPOnly
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      name: try container.decode(String.self, forKey: .name), value: try container.decode(String.self, forKey: .value),
      domain: try container.decode(String.self, forKey: .domain),
      isHostOnly: try container.decode(Bool.self, forKey: .isHostOnly),
      path: try container.decode(String.self, forKey: .path),
      expires: try container.decodeIfPresent(Double.self, forKey: .expires),
      isSecure: try container.decode(Bool.self, forKey: .isSecure),
      isHTTPOnly: try container.decode(Bool.self, forKey: .isHTTPOnly))
    guard isAcceptable else {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "this is no cookie that could be sent"))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encode(value, forKey: .value)
    try container.encode(domain, forKey: .domain)
    try container.encode(isHostOnly, forKey: .isHostOnly)
    try container.encode(path, forKey: .path)
    try container.encodeIfPresent(expires, forKey: .expires)
    try container.encode(isSecure, forKey: .isSecure)
    try container.encode(isHTTPOnly, forKey: .isHTTPOnly)
  }
}
