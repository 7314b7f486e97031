import WeirHTTP

/// A prefix of paths, on segment boundaries: `/api` matches `/api` and `/api/x`, but not `/apix`.
enum PathPrefix {
  /// The reason why the text is not a valid prefix; nil if it is one.
  static func problem(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.first == UInt8(ascii: "/") else { return "must begin with /" }
    guard bytes.count <= 2048 else { return "must be at most 2048 bytes long" }
    guard !bytes.contains(UInt8(ascii: "?")), !bytes.contains(UInt8(ascii: "#")) else {
      return "must have no query and no fragment"
    }
    guard !text.contains("//") else { return "must have no empty segment (//)" }
    switch RequestPath.normalized(bytes.span) {
    case .refused(let reason): return reason
    case .changed(let path) where path != bytes:
      return "is not in normal form; write \(quoted(String(decoding: path, as: UTF8.self)))"
    case .changed, .unchanged: break
    }
    let isPlain = bytes.allSatisfy {
      OctetSet.segment.contains($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "%")
    }
    return isPlain ? nil : "must hold only characters that URLs allow; percent-encode the others"
  }

  /// The prefix without a slash at its end, which makes no difference: `/api/` is `/api`.
  static func normalized(_ text: String) -> String {
    var text = text[...]
    while text.last == "/", text.utf8.count > 1 { text.removeLast() }
    return String(text)
  }

  /// The prefix as it is put before a path: `/` is empty there.
  static func joinable(_ prefix: String) -> String {
    let prefix = normalized(prefix)
    return prefix == "/" ? "" : prefix
  }
}
