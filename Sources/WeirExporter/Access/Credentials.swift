import Foundation

/// What a request's Authorization field says.
package enum Credentials: Equatable {
  /// RFC 7617; name and password as their bytes, which are UTF-8 by our challenge.
  case basic(name: [UInt8], password: [UInt8])
  /// RFC 6750.
  case bearer(token: [UInt8])

  /// Nil for what is neither.
  package init?(authorization: String) {
    let parts = authorization.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
    guard parts.count == 2 else { return nil }
    let value = parts[1].drop { $0 == " " }
    switch parts[0].lowercased() {
    case "basic":
      // Foundation lets a surplus = pass.
      guard value.utf8.count % 4 == 0, let data = Data(base64Encoded: String(value)),
        let colon = data.firstIndex(of: UInt8(ascii: ":"))
      else { return nil }
      self = .basic(name: Array(data[..<colon]), password: Array(data[(colon + 1)...]))
    case "bearer":
      guard Self.isToken(value) else { return nil }
      self = .bearer(token: Array(value.utf8))
    default: return nil
    }
  }

  /// RFC 6750 §2.1: b64token.
  package static func isToken(_ text: some StringProtocol) -> Bool {
    let body = text.utf8.prefix { $0 != UInt8(ascii: "=") }
    let isBodyRight = body.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: Array("-._~+/".utf8).contains(byte)
      }
    }
    return !body.isEmpty && isBodyRight && text.utf8.dropFirst(body.count).allSatisfy { $0 == UInt8(ascii: "=") }
  }
}
