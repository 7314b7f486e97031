import WeirHTTP

/// The parts of a plain URL: `http://` or `https://`; a host of small letters, digits, `.`, `-` and `_`, or an IPv6
/// address in brackets; a port without leading zeros if there is one; then visible ASCII.
///
/// Any other URL is libcurl's to read: userinfo, percent-encoded hosts, zones, other scripts, capitals.
package struct RequestURL: Hashable, Sendable {
  /// Scheme and authority as the URL spells them.
  package let origin: Substring
  package let host: Substring
  package let isSecure: Bool
  package let port: Int
  /// Path and query; empty if the URL has neither.
  package let target: Substring

  package init?(_ url: String) {
    let bytes = url.utf8
    isSecure = url.hasPrefix("https://")
    guard isSecure || url.hasPrefix("http://") else { return nil }
    let authority = bytes.dropFirst(isSecure ? 8 : 7).prefix { !URLSyntax.endsAuthority($0) }
    guard let hostEnd = Self.endOfHost(authority) else { return nil }
    var port = isSecure ? 443 : 80
    if hostEnd < authority.endIndex {
      let digits = authority[hostEnd...].dropFirst()
      guard authority[hostEnd] == .colon, let number = Self.port(digits) else { return nil }
      port = number
    }
    self.port = port
    host = url[authority.startIndex..<hostEnd]
    origin = url[..<authority.endIndex]
    guard let end = Self.endOfTarget(bytes, from: authority.endIndex) else { return nil }
    target = url[authority.endIndex..<end]
  }

  /// The range of path and query in a URL that begins with these scheme and authority; nil if it does not, or is not
  /// plain.
  static func target(in url: UnsafeBufferPointer<UInt8>, behind origin: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
    let start = origin.count
    guard url.starts(with: origin), start == url.count || URLSyntax.endsAuthority(url[start]) else { return nil }
    return endOfTarget(url, from: start).map { start..<$0 }
  }

  /// Where the fragment, which is not sent, begins, or the end; nil if the text has anything but visible ASCII.
  private static func endOfTarget<URL: Collection<UInt8>>(_ url: URL, from start: URL.Index) -> URL.Index? {
    var (index, end) = (start, url.endIndex)
    while index < url.endIndex {
      let octet = url[index]
      guard octet > 32, octet < 127 else { return nil }
      if octet == UInt8(ascii: "#"), index < end { end = index }
      url.formIndex(after: &index)
    }
    return end
  }

  private static func endOfHost(_ authority: Substring.UTF8View) -> String.Index? {
    if authority.first == UInt8(ascii: "[") {
      guard let bracket = authority.firstIndex(of: UInt8(ascii: "]")),
        authority[..<bracket].dropFirst().allSatisfy({ $0.hexValue != nil || $0 == .colon || $0 == UInt8(ascii: ".") })
      else { return nil }
      return authority.index(after: bracket)
    }
    let host = authority.prefix { $0 != .colon }
    guard !host.isEmpty, host.allSatisfy(Self.isPlain) else { return nil }
    return host.endIndex
  }

  private static func isPlain(_ octet: UInt8) -> Bool {
    octet.isDigit || octet &- 0x61 < 26 || octet == UInt8(ascii: ".") || octet == UInt8(ascii: "-")
      || octet == UInt8(ascii: "_")
  }

  private static func port(_ digits: Substring.UTF8View) -> Int? {
    guard (1...5).contains(digits.count), digits.first != UInt8(ascii: "0"), digits.allSatisfy(\.isDigit) else {
      return nil
    }
    let number = digits.reduce(0) { $0 * 10 + Int($1 & 15) }
    return number <= 65_535 ? number : nil
  }
}
