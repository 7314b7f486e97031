import WeirHTTP

/// A URL request and the facts of it that are needed more than once: each access to a `URLRequest` costs as much as a
/// lock. A plain one, of a URL, a method and header fields alone, is only built where somebody else is to see it.
final class HopRequest: Sendable {
  private enum Form {
    case given(URLRequest)
    case plain(URL, HTTPHeaders)
  }

  private let form: Form
  /// Kept beside `form`, as a look at that retains what is in it.
  private let isPlain: Bool
  let url: URL?
  /// The URL's text; empty if there is no URL.
  let text: String
  let method: String
  /// The length of scheme and authority in bytes; nil if the URL is not http or https, or has no host.
  let originLength: Int?

  convenience init(_ urlRequest: URLRequest) {
    self.init(.given(urlRequest), urlRequest.url, method: urlRequest.httpMethod ?? "GET")
  }

  /// The request that `URLRequest(url:method:headers:)` makes.
  convenience init(plain url: URL, method: HTTPMethod, headers: HTTPHeaders = [:]) {
    let url = url.absoluteURL
    self.init(.plain(url, headers), url, method: method.rawValue)
  }

  private init(_ form: Form, _ url: URL?, method: String) {
    self.form = form
    isPlain = if case .plain = form { true } else { false }
    self.url = url
    self.method = method
    var text = url?.absoluteString ?? ""
    originLength = text.withUTF8(Self.originLength)
    self.text = text
  }

  /// Another form of `hop` that differs in header fields alone.
  private init(_ form: Form, of hop: HopRequest) {
    self.form = form
    isPlain = hop.isPlain
    (url, text, method, originLength) = (hop.url, hop.text, hop.method, hop.originLength)
  }

  /// The request with other header fields. One without a URL, which is not sent, stays as it is: Foundation can't copy it.
  func with(_ headers: HTTPHeaders) -> HopRequest {
    guard url != nil else { return self }
    switch form {
    case .given(var urlRequest):
      urlRequest.headers = headers
      return HopRequest(.given(urlRequest), of: self)
    case .plain(let url, _): return HopRequest(.plain(url, headers), of: self)
    }
  }

  /// A plain request is built each time.
  var urlRequest: URLRequest {
    switch form {
    case .given(let urlRequest): urlRequest
    case .plain(let url, let headers): URLRequest(url: url, method: method, headers: headers)
    }
  }

  /// The same as ``URLRequest/validate()``. A plain request can't have a wrong method or a body.
  func validate() throws {
    switch form {
    case .given(let urlRequest): try urlRequest.validate()
    case .plain(_, let headers): try headers.validate()
    }
  }

  /// The `URLRequest`, unless the request is plain.
  var given: URLRequest? { isPlain ? nil : urlRequest }

  /// The request's own timeout in seconds; nil: none was set.
  var timeout: TimeInterval? {
    guard let timeout = given?.timeoutInterval, timeout != Self.foundationsTimeout else { return nil }
    return timeout
  }

  /// The `timeoutInterval` of a `URLRequest` for which none was set.
  private static let foundationsTimeout: TimeInterval = 60

  var cachePolicy: URLRequest.CachePolicy { given?.cachePolicy ?? .useProtocolCachePolicy }

  /// Whether cookies are sent with the request and kept from its response.
  var handlesCookies: Bool { given?.httpShouldHandleCookies ?? true }

  /// The header fields. Those of a `URLRequest` are in no meaningful order.
  var headers: HTTPHeaders {
    switch form {
    case .given(let urlRequest): urlRequest.headers
    case .plain(_, let headers): headers
    }
  }

  func value(forHeader name: String) -> String? {
    switch form {
    case .given(let urlRequest): urlRequest.value(forHTTPHeaderField: name)
    case .plain(_, let headers): headers[name]
    }
  }

  /// The scheme and authority, as the URL spells them.
  var origin: String? { originLength.flatMap { String(text.utf8.prefix($0)) } }

  /// Path and query as they are sent (RFC 9112 section 3.2.1); nil if the URL is not http or https, or has no host.
  var target: String? {
    guard let originLength else { return nil }
    let rest = text.utf8.dropFirst(originLength).prefix { $0 != UInt8(ascii: "#") }
    return (rest.first == .slash ? "" : "/") + String(decoding: rest, as: UTF8.self)
  }

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
    while end < bytes.count, !URLSyntax.endsAuthority(bytes[end]) { end += 1 }
    return end > start ? end : nil
  }

  /// The length of `prefix` if `bytes` begin with it, in upper or lower case (RFC 9110 section 4.2.3); else nil.
  private static func length(of prefix: StaticString, in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
    UnsafeRawBufferPointer(bytes).begins(with: prefix) ? prefix.utf8CodeUnitCount : nil
  }
}

extension AttemptHeader {
  /// The number of earlier retries, according to the request's own header field.
  func count(in hop: HopRequest) -> Int {
    guard var value = hop.value(forHeader: name) else { return 0 }
    return value.withUTF8 { Self.count(UnsafeRawBufferPointer($0)) }
  }
}
