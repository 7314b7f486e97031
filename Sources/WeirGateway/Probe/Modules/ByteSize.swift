/// A size in blackbox_exporter's form, such as `10MB`: units are powers of 1024, whether they are written `MB` or `MiB`.
enum ByteSize {
  static func parse(_ text: String) -> Int64? {
    if text == "0" { return 0 }
    var rest = text[...]
    var total = 0.0
    guard !rest.isEmpty else { return nil }
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber || $0 == "." }
      rest = rest[digits.endIndex...]
      let unit = rest.prefix { $0.isASCII && $0.isLetter }
      rest = rest[unit.endIndex...]
      guard let number = Double(digits), let power = powers[String(unit)] else { return nil }
      total += (0..<power).reduce(number) { value, _ in value * 1024 }
    }
    return total < 9e18 ? Int64(total) : nil
  }

  private static let powers = [
    "B": 0, "KB": 1, "KiB": 1, "MB": 2, "MiB": 2, "GB": 3, "GiB": 3, "TB": 4, "TiB": 4, "PB": 5, "PiB": 5, "EB": 6,
    "EiB": 6,
  ]
}
