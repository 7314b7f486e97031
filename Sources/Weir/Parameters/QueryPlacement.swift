/// Puts an encoded query into the URL or the body.
enum QueryPlacement {
  static let formContentType = "application/x-www-form-urlencoded; charset=utf-8"

  /// The URL with the query added to its own.
  ///
  /// It joins text: setting `URLComponents.percentEncodedQuery` traps on a query that is not properly escaped. With
  /// custom escaping rules, the caller's data decides whether it is.
  static func url(_ url: URL, adding query: String) -> URL? {
    if query.isEmpty { return url }
    let text = url.absoluteString
    let fragment = text.firstIndex(of: "#") ?? text.endIndex
    let base = text[..<fragment]
    let separator =
      switch base.firstIndex(of: "?") {
      case nil: "?"
      case let mark? where base.index(after: mark) == base.endIndex: ""
      default: "&"
      }
    return URL(text: "\(base)\(separator)\(query)\(text[fragment...])")
  }

  /// Sets the body, and the content type unless there is one.
  ///
  /// A request without a URL is an error, though the body needs none: changing such a request traps in Foundation.
  static func setBody(_ body: Data, _ type: String, of request: inout URLRequest) throws(WeirError) {
    guard request.url != nil else { throw .parameterEncodingFailed(reason: .missingURL) }
    request.httpBody = body
    if request.value(forHTTPHeaderField: "Content-Type") == nil {
      request.setValue(type, forHTTPHeaderField: "Content-Type")
    }
  }

  /// Sets a body of JSON that `encode` makes.
  static func setJSON(of request: inout URLRequest, _ encode: () throws -> Data) throws(WeirError) {
    let body: Data
    do {
      body = try encode()
    } catch {
      throw .parameterEncodingFailed(reason: .jsonEncodingFailed(error: error))
    }
    try setBody(body, "application/json", of: &request)
  }
}

/// Percent-encodes the UTF-8 of a text (RFC 3986 section 2.1), except a set of ASCII bytes.
struct PercentEscaper: Sendable {
  let allowed: CharacterSet
  /// By octet.
  private let isAllowed: [Bool]

  /// Takes the ASCII members of the set; bytes beyond ASCII are always escaped.
  init(allowed: CharacterSet) {
    self.allowed = allowed
    isAllowed = (UInt8.min ... .max).map { $0 < 128 && allowed.contains(Unicode.Scalar($0)) }
  }

  func escape(_ text: String, spaceAsPlus: Bool = false) -> String {
    var text = text
    return text.withUTF8 { bytes in
      guard !bytes.allSatisfy(allows) || (spaceAsPlus && bytes.contains(0x20)) else {
        return String(decoding: bytes, as: UTF8.self)
      }
      return String(unsafeUninitializedCapacity: bytes.count * 3) { target in
        var count = 0
        for byte in bytes {
          if spaceAsPlus, byte == 0x20 {
            target[count] = UInt8(ascii: "+")
            count += 1
          } else if allows(byte) {
            target[count] = byte
            count += 1
          } else {
            target[count] = UInt8(ascii: "%")
            target[count + 1] = Self.digit(byte >> 4)
            target[count + 2] = Self.digit(byte & 0xF)
            count += 3
          }
        }
        return count
      }
    }
  }

  private func allows(_ byte: UInt8) -> Bool { isAllowed[Int(byte)] }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }
}

extension CharacterSet {
  /// The characters that stay unescaped in keys and values of a query: `A–Z a–z 0–9 - . _ ~ / ?`.
  ///
  /// These are the unreserved characters (RFC 3986 section 2.3) and the two reserved ones that section 3.4 explicitly
  /// allows in a query.
  public static let weirURLQueryAllowed = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?")
}
