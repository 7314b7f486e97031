import Foundation

/// The three date forms of HTTP (RFC 9110 section 5.6.7), read without a formatter or a locale.
package enum HTTPDate {
  /// The date, or nil when the text has none of the forms; `now` decides the century of a two-digit year.
  package static func parse(_ text: String, now: Date) -> Date? {
    let words = text.split(whereSeparator: { $0 == " " || $0 == "," })
    switch words.count {
    // Sun, 06 Nov 1994 08:49:37 GMT
    case 6 where words[5] == "GMT" && words[3].utf8.count == 4:
      return date(day: words[1], month: words[2], year: number(words[3]), time: words[4])
    // Sunday, 06-Nov-94 08:49:37 GMT
    case 4 where words[3] == "GMT":
      let parts = words[1].split(separator: "-")
      guard parts.count == 3, parts[2].utf8.count == 2, let year = number(parts[2]) else { return nil }
      return date(day: parts[0], month: parts[1], year: fullYear(year, now: now), time: words[2])
    // Sun Nov  6 08:49:37 1994
    case 5 where words[4].utf8.count == 4:
      return date(day: words[2], month: words[1], year: number(words[4]), time: words[3])
    default:
      return nil
    }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func date(day: Substring, month: Substring, year: Int?, time: Substring) -> Date? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false).map {
      $0.utf8.count == 2 ? number($0) : nil
    }
    guard let year, let day = number(day), let month = months.firstIndex(where: { $0 == month }),
      clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
      // 60 is a leap second.
      (1...31).contains(day), hour < 24, minute < 60, second <= 60
    else { return nil }
    let days = daysSince1970(year: year, month: month + 1, day: day)
    return Date(timeIntervalSince1970: Double(((days * 24 + hour) * 60 + minute) * 60 + second))
  }

  /// A year more than 50 years ahead is the one with the same last digits in the past (RFC 9110 section 5.6.7).
  private static func fullYear(_ twoDigits: Int, now: Date) -> Int {
    let current = 1970 + Int(now.timeIntervalSince1970 / 31_556_952)
    let year = current - current % 100 + twoDigits
    if year > current + 50 { return year - 100 }
    return year <= current - 50 ? year + 100 : year
  }

  /// Days of the proleptic Gregorian calendar, years beginning in March so that the leap day is the last.
  private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year % 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func number(_ text: Substring) -> Int? {
    guard (1...4).contains(text.utf8.count) else { return nil }
    var value = 0
    for byte in text.utf8 {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return value
  }
}
