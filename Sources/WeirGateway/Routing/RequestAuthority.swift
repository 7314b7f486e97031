import WeirHTTP

/// The parts of the host and port that a client asked for: `example.com.:8080`, `[::1]`.
enum RequestAuthority {
  /// The length of the host at the beginning, without the dot of a fully qualified name.
  static func hostLength(_ authority: Span<UInt8>) -> Int {
    let length = end(ofHost: authority)
    return length > 1 && authority[length - 1] == UInt8(ascii: ".") ? length - 1 : length
  }

  /// The port with its colon; empty if there is none.
  static func port(_ authority: Span<UInt8>) -> Range<Int> {
    let end = end(ofHost: authority)
    return authority.count - end > 1 ? end..<authority.count : authority.count..<authority.count
  }

  private static func end(ofHost authority: Span<UInt8>) -> Int {
    if !authority.isEmpty, authority[0] == UInt8(ascii: "["),
      let bracket = authority.firstIndex(of: UInt8(ascii: "]"))
    {
      return bracket + 1
    }
    return authority.firstIndex(of: .colon) ?? authority.count
  }
}
