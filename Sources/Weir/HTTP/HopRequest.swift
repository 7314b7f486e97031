import WeirHTTP

/// A URL request and the facts of it that are needed more than once: each access to a `URLRequest` costs as much as a
/// lock.
final class HopRequest: Sendable {
  let urlRequest: URLRequest
  let url: URL?
  /// The URL's text; empty if there is no URL.
  let text: String
  let method: String
  /// The length of scheme and authority in bytes; nil if the URL is not http or https, or has no host.
  let originLength: Int?

  init(_ urlRequest: URLRequest) {
    self.urlRequest = urlRequest
    url = urlRequest.url
    var text = url?.absoluteString ?? ""
    originLength = text.withUTF8(Self.originLength)
    self.text = text
    method = urlRequest.httpMethod ?? "GET"
  }

  /// The scheme and authority, as the URL spells them.
  var origin: String? { originLength.flatMap { String(text.utf8.prefix($0)) } }

  /// Whether the URL begins with this text.
  func begins(with origin: String) -> Bool {
    text.utf8.withContiguousStorageIfAvailable { text in
      origin.utf8.withContiguousStorageIfAvailable { text.starts(with: $0) } ?? false
    } ?? false
  }

  /// Whether the URL is https and has a host.
  var isSecure: Bool { originLength != nil && text.utf8.dropFirst(4).first.map { $0 | 0x20 } == UInt8(ascii: "s") }

  /// Whether the URL is http or https and has a host.
  var isSupported: Bool { originLength != nil }

  private static func originLength(of bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    guard let start = length(of: "http://", in: bytes) ?? length(of: "https://", in: bytes) else { return nil }
    var end = start
    while end < bytes.count, !isEndOfAuthority(bytes[end]) { end += 1 }
    return end > start ? end : nil
  }

  /// RFC 3986 section 3.2.
  private static func isEndOfAuthority(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }

  /// The length of `prefix` if `bytes` begin with it, in upper or lower case (RFC 9110 section 4.2.3); else nil.
  private static func length(of prefix: StaticString, in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    UnsafeRawBufferPointer(bytes).begins(with: prefix) ? prefix.utf8CodeUnitCount : nil
  }
}
