import Testing
import WeirHTTP

@testable import Weir

/// RFC 6265 §5.1.1.
@Suite("Cookie dates")
struct CookieDateTests {
  static let table: [(String, Int?)] = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), ("6-nov-1994 8:49:37", 784_111_777),
    ("08:49:37 1994 NOVEMBER 06th", 784_111_777), ("1994 6 Nov 08:49:37", 784_111_777),
    ("94 Nov 6 08:49:37", nil), ("06 Nov 94 08:49:37.123 +0100", 784_111_777),
    ("Thu, 01-Jan-1970 00:00:00 GMT", 0), ("Thu, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
    ("01 Jan 70 00:00:00", 0), ("31 Dec 99 23:59:59", 946_684_799), ("01 Jan 0 00:00:00", nil),
    ("01 Jan 00 00:00:00", 946_684_800), ("29 Feb 2000 00:00:00", 951_782_400), ("29 Feb 1900 00:00:00", nil),
    ("29 Feb 2023 00:00:00", nil), ("31 Apr 2024 00:00:00", nil), ("00 Jan 2024 00:00:00", nil),
    ("32 Jan 2024 00:00:00", nil), ("01 Jan 1600 00:00:00", nil), ("01 Jan 1601 00:00:00", -11_644_473_600),
    ("31 Dec 9999 23:59:59", 253_402_300_799), ("01 Jan 10000 00:00:00", nil), ("01 Jan 2024 24:00:00", nil),
    ("01 Jan 2024 00:60:00", nil), ("01 Jan 2024 00:00:60", nil), ("01 Jan 2024 00:00", nil),
    ("01 Jan 2024 000:00:00", nil), ("01 Jan 2024 00:00:000", nil), ("01 Foo 2024 00:00:00", nil), ("", nil),
    (";;;", nil), ("99999999999999999999 Jan 2024 00:00:00", nil), ("01\tJan;2024_00:00:00", 1_704_067_200),
    ("\u{FC}01 Jan 2024 00:00:00", nil),
  ]

  @Test(arguments: table)
  func dates(_ text: String, _ seconds: Int?) {
    #expect(text.withOctets(CookieDate.parse) == seconds)
  }

  @Test("Each day from 1601 to 2400 is the day after the one before")
  func days() throws {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    var before: Int?
    var count = 0
    for year in 1601...2400 {
      for month in months {
        for day in 1...31 {
          guard let seconds = "\(day) \(month) \(year) 00:00:00".withOctets(CookieDate.parse) else { continue }
          if let before { #expect(seconds - before == 86_400) }
          before = seconds
          count += 1
        }
      }
    }
    #expect(count == 292_194)
  }
}
