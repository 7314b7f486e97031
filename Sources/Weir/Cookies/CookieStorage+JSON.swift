extension CookieStorage {
  /// The cookies as a JSON document that ``load(json:)`` can read. A reader of the document can act as the cookies'
  /// owner, so store it where others can't read it.
  ///
  /// - Parameter includingSessionCookies: Whether cookies without an expiry are included.
  public func json(includingSessionCookies: Bool = true) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(
      CookieDocument(version: 1, cookies: all.filter { includingSessionCookies || $0.expires != nil }))
  }

  /// Adds the unexpired cookies of a document that ``json(includingSessionCookies:)`` made, within the limits. They
  /// replace cookies of the same name, domain and path.
  ///
  /// Throws a `DecodingError`, and adds none, if the data is not such a document or one of its cookies is not valid.
  public func load(json: Data) throws {
    set(try JSONDecoder().decode(CookieDocument.self, from: json).cookies.filter { !$0.isExpired(Self.now) })
  }
}

/// The cookies are in the order of their age.
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
        forKey: .cookies, in: container, debugDescription: "cookie number \(index) can't be sent")
    }
  }
}
