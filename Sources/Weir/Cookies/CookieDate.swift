import WeirHTTP

/// The dates of cookies (RFC 6265 §5.1.1), which are parsed more leniently than other dates of HTTP.
enum CookieDate {
  /// Seconds since 1970; nil if the text is not a date.
  static func parse(_ text: UnsafeRawBufferPointer) -> Int? {
    var fields = Fields()
    var start = 0
    while start < text.count {
      var end = start
      while end < text.count, !isDelimiter(text[end]) { end += 1 }
      if end > start { fields.take(text.octets(start..<end)) }
      start = end + 1
    }
    return fields.seconds
  }

  private static func isDelimiter(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  /// The fields found so far. A token is taken for the first field that it fits and that is still missing.
  private struct Fields {
    private var time: (hour: Int, minute: Int, second: Int)?
    private var day: Int?
    private var month: Int?
    private var year: Int?

    mutating func take(_ token: UnsafeRawBufferPointer) {
      if time == nil, let found = CookieDate.time(token) {
        time = found
      } else if day == nil, let found = CookieDate.number(token, digits: 1...2) {
        day = found
      } else if month == nil, let found = CookieDate.month(token) {
        month = found
      } else if year == nil, let found = CookieDate.number(token, digits: 2...4) {
        year = found
      }
    }

    var seconds: Int? {
      guard let time, let day, let month, var year else { return nil }
      if (70...99).contains(year) { year += 1900 } else if year < 70 { year += 2000 }
      guard year >= 1601, day >= 1, day <= HTTPDate.days(inMonth: month, of: year), time.hour < 24, time.minute < 60,
        time.second < 60
      else { return nil }
      return HTTPDate.seconds(year, month, day, time.hour, time.minute, time.second)
    }
  }

  /// Parses `hms-time`; after the seconds anything but a digit may follow.
  private static func time(_ token: UnsafeRawBufferPointer) -> (hour: Int, minute: Int, second: Int)? {
    var numbers: [Int] = []
    var start = 0
    for index in 0..<3 {
      let rest = token.octets(start..<token.count)
      let count = rest.prefix { $0.isDigit }.count
      guard (1...2).contains(count), let value = rest.octets(0..<count).decimal else { return nil }
      numbers.append(Int(value))
      start += count
      if index == 2 { break }
      guard start < token.count, token[start] == .colon else { return nil }
      start += 1
    }
    return (numbers[0], numbers[1], numbers[2])
  }

  /// The number that the token begins with, if it has so many digits.
  private static func number(_ token: UnsafeRawBufferPointer, digits: ClosedRange<Int>) -> Int? {
    let count = token.prefix { $0.isDigit }.count
    return digits.contains(count) ? token.octets(0..<count).decimal.map(Int.init) : nil
  }

  private static let months: [StaticString] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// The month, counted from 1.
  private static func month(_ token: UnsafeRawBufferPointer) -> Int? {
    months.firstIndex { token.begins(with: $0) }.map { $0 + 1 }
  }
}
