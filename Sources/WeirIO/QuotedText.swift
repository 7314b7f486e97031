extension String {
  /// The text for a message: in quotes, control characters escaped, cut after `limit` characters.
  package func inQuotes(limit: Int) -> String {
    var result = "\""
    for scalar in unicodeScalars.prefix(limit) {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value):
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + (unicodeScalars.count > limit ? "…\"" : "\"")
  }

  /// The text, or as much of its beginning as fits into so many octets of UTF-8. Octets count, as one character may have
  /// thousands of them.
  package func cut(after count: Int) -> String {
    guard utf8.count > count else { return self }
    // A scalar's further octets begin with 10.
    var end = utf8.index(utf8.startIndex, offsetBy: count)
    while end > utf8.startIndex, utf8[end] & 0xc0 == 0x80 { end = utf8.index(before: end) }
    return String(decoding: utf8[..<end], as: UTF8.self)
  }
}
