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
}
