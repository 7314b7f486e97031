internal import CCurl
import WeirHTTP
import WeirIO

/// URLs as libcurl reads them.
package enum CurlURL {
  /// The host as libcurl connects to it or names it to a proxy: decoded, with addresses in libcurl's own spelling.
  package static func host(of url: String) -> String? {
    guard let handle = curl_url() else { return nil }
    defer { curl_url_cleanup(handle) }
    guard curl_url_set(handle, CURLUPART_URL, url, UInt32(CURLU_PATH_AS_IS)) == CURLUE_OK else { return nil }
    // Punycode turns digits and dots of other scripts into ASCII. A libcurl without IDN support uses the name
    // unchanged.
    return part(CURLUPART_HOST, of: handle, UInt32(CURLU_PUNYCODE)) ?? part(CURLUPART_HOST, of: handle, 0)
  }

  /// Whether `host(of:)` is what libcurl connects to. Of a host in other scripts that is unknown below 7.88, which has no
  /// Punycode to offer before it connects, and without IDN support.
  static func isHostKnown(of url: String) -> Bool {
    guard url.utf8.contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "%") }) else { return true }
    return host(of: url)?.utf8.allSatisfy { $0 < 0x80 } ?? true
  }

  /// The parts of a URL of any scheme, decoded.
  struct Parts {
    /// In small letters.
    let scheme: String
    let host: String
    let port: Int?
    let user: String?
    let password: String?

    /// Nil if the text is no URL.
    init?(_ url: String) {
      guard let handle = curl_url() else { return nil }
      defer { curl_url_cleanup(handle) }
      guard curl_url_set(handle, CURLUPART_URL, url, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK else { return nil }
      func text(_ part: CURLUPart) -> String? { CurlURL.part(part, of: handle, UInt32(CURLU_URLDECODE)) }
      (scheme, host) = (text(CURLUPART_SCHEME)?.lowercased() ?? "", text(CURLUPART_HOST) ?? "")
      port = text(CURLUPART_PORT).flatMap { Int($0) }
      (user, password) = (text(CURLUPART_USER), text(CURLUPART_PASSWORD))
    }
  }

  private static func part(_ part: CURLUPart, of handle: OpaquePointer, _ flags: UInt32) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}

extension CurlURL {
  /// The URL with its host in canonical form if the host is an address; any other URL unchanged. libcurl rewrites only some
  /// forms; the others would get a pool and a Host field of their own.
  static func canonical(_ url: String) -> String {
    guard mayNeedRewriting(url), let authority = HostName.Authority(ofURL: url) else { return url }
    let host = url[authority.host]
    let read = host.utf8.first == UInt8(ascii: "[") ? String(host) : decoded(host)
    guard !read.contains(":") || host.utf8.first == UInt8(ascii: "["), IPAddress(host: read) != nil else { return url }
    return authority.replacingHost(of: url, with: CanonicalHost(read).inURL)
  }

  /// Whether the host may be in a form other than the canonical one. A look at the authority rules this out for names
  /// and for addresses such as `192.0.2.1`, and most hosts are one of these.
  private static func mayNeedRewriting(_ url: String) -> Bool {
    var url = url
    return url.withUTF8 { bytes in
      guard var begin = bytes.firstIndex(of: .colon) else { return false }
      repeat { begin += 1 } while begin < bytes.count && bytes[begin] == .slash
      // A loop, as every request comes here: slices take five times the instructions.
      var (end, hostEnd) = (begin, begin)
      while end < bytes.count {
        let octet = bytes[end]
        if URLSyntax.endsAuthority(octet) { break }
        if octet == UInt8(ascii: "@") || octet == UInt8(ascii: "%") { return true }
        if hostEnd == end, octet != .colon { hostEnd += 1 }
        end += 1
      }
      guard begin < end else { return false }
      if bytes[begin] == UInt8(ascii: "[") { return true }
      return bytes[begin].isDigit && !isDottedDecimal(bytes[begin..<hostEnd])
    }
  }

  /// Whether it is four numbers up to 255 without leading zeros.
  private static func isDottedDecimal(_ host: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    var (parts, number, digits) = (1, 0, 0)
    for byte in host {
      if byte == UInt8(ascii: ".") {
        guard digits > 0 else { return false }
        (parts, number, digits) = (parts + 1, 0, 0)
        continue
      }
      guard byte.isDigit, digits == 0 || number > 0 else { return false }
      number = number * 10 + Int(byte &- UInt8(ascii: "0"))
      digits += 1
      guard number <= 255 else { return false }
    }
    return parts == 4 && digits > 0
  }

  /// The text with its percent-encoded octets decoded.
  private static func decoded(_ text: Substring) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var octets: [UInt8] = []
    var rest = text.utf8[...]
    while let octet = rest.popFirst() {
      if octet == UInt8(ascii: "%"), let value = UInt8(String(Substring(rest.prefix(2))), radix: 16) {
        octets.append(value)
        rest = rest.dropFirst(2)
      } else {
        octets.append(octet)
      }
    }
    return String(decoding: octets, as: UTF8.self)
  }
}
