#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// HTTP's date formats (RFC 9110 §5.6.7), in seconds since 1970, without a formatter or a locale.
package enum HTTPDate {
  /// IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`.
  package static func text(secondsSince1970 seconds: Int) -> String {
    var seconds = time_t(seconds)
    var date = tm()
    gmtime_r(&seconds, &date)
    let day = name(date.tm_wday, in: "SunMonTueWedThuFriSat")
    let month = months[Int(date.tm_mon)]
    let time = "\(two(date.tm_hour)):\(two(date.tm_min)):\(two(date.tm_sec))"
    return "\(day), \(two(date.tm_mday)) \(month) \(Int(date.tm_year) + 1900) \(time) GMT"
  }

  private static func name(_ index: CInt, in names: String) -> Substring {
    names.dropFirst(Int(index) * 3).prefix(3)
  }

  private static func two(_ number: CInt) -> String {
    number < 10 ? "0\(number)" : "\(number)"
  }

  /// The time in seconds since 1970; nil when the text has none of the three forms, or the day does not exist. `now`
  /// decides the century of a two-digit year.
  ///
  /// In place of GMT other names of UTC are taken, and offsets as in mails (`+0000`): some servers send them, and what
  /// they mean is clear.
  package static func parse(_ text: String, now: Int) -> Int? {
    let words = text.split(whereSeparator: { $0 == " " || $0 == "," })
    switch words.count {
    // Sun, 06 Nov 1994 08:49:37 GMT
    case 6 where words[3].utf8.count == 4:
      return date(day: words[1], month: words[2], year: number(words[3]), time: words[4], zone: words[5])
    // Sunday, 06-Nov-94 08:49:37 GMT
    case 4:
      let parts = words[1].split(separator: "-")
      guard parts.count == 3, parts[2].utf8.count == 2, let year = number(parts[2]) else { return nil }
      return date(day: parts[0], month: parts[1], year: fullYear(year, now: now), time: words[2], zone: words[3])
    // Sun Nov  6 08:49:37 1994
    case 5 where words[4].utf8.count == 4:
      return date(day: words[2], month: words[1], year: number(words[4]), time: words[3], zone: "GMT")
    default:
      return nil
    }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func date(
    day: Substring, month: Substring, year: Int?, time: Substring, zone: Substring
  ) -> Int? {
    let clock = time.split(separator: ":", omittingEmptySubsequences: false).map {
      $0.utf8.count == 2 ? number($0) : nil
    }
    guard let year, let day = number(day), let month = months.firstIndex(where: { $0 == month }),
      clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
      // 60 is a leap second.
      day >= 1, day <= days(inMonth: month + 1, of: year), hour < 24, minute < 60, second <= 60,
      let offset = offset(of: zone)
    else { return nil }
    return seconds(year, month + 1, day, hour, minute, second) - offset
  }

  /// The seconds by which a zone is ahead of UTC: `GMT`, `UTC`, `UT`, `Z`, or `+hhmm` (RFC 5322 section 3.3).
  private static func offset(of zone: Substring) -> Int? {
    switch zone {
    case "GMT", "UTC", "UT", "Z": return 0
    default: break
    }
    guard zone.utf8.count == 5, let sign = zone.utf8.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
      let digits = number(zone.dropFirst()), digits % 100 < 60, digits / 100 < 24
    else { return nil }
    let offset = (digits / 100 * 60 + digits % 100) * 60
    return sign == UInt8(ascii: "+") ? offset : -offset
  }

  /// The number of days in a month of the Gregorian calendar; months count from 1.
  package static func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Seconds since 1970 of a date of the Gregorian calendar, in UTC; months count from 1.
  package static func seconds(
    _ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int
  ) -> Int {
    var date = tm()
    (date.tm_year, date.tm_mon, date.tm_mday) = (CInt(year - 1900), CInt(month - 1), CInt(day))
    (date.tm_hour, date.tm_min, date.tm_sec) = (CInt(hour), CInt(minute), CInt(second))
    return Int(timegm(&date))
  }

  /// A year more than 50 years ahead is the one with the same last digits in the past (RFC 9110 section 5.6.7).
  private static func fullYear(_ twoDigits: Int, now: Int) -> Int {
    let current = 1970 + now / 31_556_952
    let year = current - current % 100 + twoDigits
    if year > current + 50 { return year - 100 }
    return year <= current - 50 ? year + 100 : year
  }

  private static func number(_ text: Substring) -> Int? {
    guard (1...4).contains(text.utf8.count) else { return nil }
    var value = 0
    for byte in text.utf8 {
      guard byte.isDigit else { return nil }
      value = value * 10 + Int(byte & 15)
    }
    return value
  }
}
