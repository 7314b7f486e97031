/// A moment as log lines show it: UTC, to the millisecond (RFC 3339).
package struct LogTime: Sendable, Equatable {
  /// Since 1970.
  package let milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  /// `2026-03-01T12:00:00.250Z`
  func append(to line: inout [UInt8]) {
    let seconds = milliseconds.flooredQuotient(1000)
    let days = seconds.flooredQuotient(86_400)
    let date = Self.date(daysSince1970: days)
    let ofDay = seconds - days * 86_400
    for (value, width, separator) in [
      (date.year, 4, "-"), (date.month, 2, "-"), (date.day, 2, "T"), (ofDay / 3600, 2, ":"), (ofDay / 60 % 60, 2, ":"),
      (ofDay % 60, 2, "."), (milliseconds - seconds * 1000, 3, "Z"),
    ] {
      let digits = String(value)
      line.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: max(0, width - digits.utf8.count)))
      line.append(contentsOf: digits.utf8)
      line.append(contentsOf: separator.utf8)
    }
  }

  /// The proleptic Gregorian calendar, counted in 400-year eras of years that begin in March.
  private static func date(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = shifted.flooredQuotient(146_097)
    let ofEra = shifted - era * 146_097
    let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * ofYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, ofYear - (153 * monthFromMarch + 2) / 5 + 1)
  }
}

extension Int64 {
  fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
    self >= 0 ? self / divisor : -((-self + divisor - 1) / divisor)
  }
}
