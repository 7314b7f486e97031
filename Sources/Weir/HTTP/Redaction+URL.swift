extension Redaction {
  /// The URL without its userinfo, for errors, which callers may print.
  package static func url(_ url: URL) -> URL {
    let text = url.absoluteString
    guard text.utf8.contains(UInt8(ascii: "@")) else { return url }
    return URL(string: urls(in: text).replacing("\(placeholder)@", with: "")) ?? url
  }
}
