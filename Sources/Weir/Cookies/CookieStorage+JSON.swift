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
private struct CookieDocument: Encodable {
  let version: Int
  let cookies: [Cookie]
}

extension CookieDocument: Decodable {
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    version = try container.decode(Int.self, forKey: .version)
    guard version == 1 else {
      throw DecodingError.dataCorruptedError(
        forKey: .version, in: container, debugDescription: "only version 1 can be read, not \(version)")
    }
    cookies = try container.decode([Cookie].self, forKey: .cookies)
    if let index = cookies.firstIndex(where: { !$0.isAcceptable }) {
      throw DecodingError.dataCorruptedError(
        forKey: .cookies, in: container, debugDescription: "number \(index) is no cookie that could be sent")
    }
  }
}
