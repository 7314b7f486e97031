import Foundation
import Testing
import WeirHTTP
import WeirTestSupport

@Suite struct HTTPDateTests {
  /// 2026-01-01 00:00:00 UTC.
  static let now = 1_767_225_600

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Sun Nov 16 08:49:37 1994", 784_975_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
    ("Fri, 31 Dec 1999 23:59:60 GMT", 946_684_800),
    ("Sat, 31 Dec 2022 00:00:00 GMT", 1_672_444_800),
    ("Wednesday, 01-Jan-75 00:00:00 GMT", 3_313_526_400),
    ("Friday, 01-Jan-77 00:00:00 GMT", 220_924_800),
    // Zones that HTTP does not have, but servers send.
    ("Sun, 06 Nov 1994 08:49:37 UTC", 784_111_777), ("Sun, 06 Nov 1994 08:49:37 UT", 784_111_777),
    ("Sun, 06 Nov 1994 08:49:37 Z", 784_111_777), ("Sun, 06 Nov 1994 08:49:37 +0000", 784_111_777),
    ("Sun, 06 Nov 1994 08:49:37 -0000", 784_111_777), ("Sun, 06 Nov 1994 09:49:37 +0100", 784_111_777),
    ("Sun, 06 Nov 1994 03:19:37 -0530", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 UTC", 784_111_777),
    ("Sunday, 06-Nov-94 08:49:37 +0000", 784_111_777),
  ])
  func dates(text: String, seconds: Int) {
    #expect(HTTPDate.parse(text, now: Self.now) == seconds)
  }

  @Test(arguments: [
    "", "now", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov  6 08:49:37 94", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
    "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT", "- - - - -", "a b c d e f", "a a-b-cc d GMT",
    "Sun, 06 Nov 1994 08:49:37 gmt", "Sun, 06 Nov 1994 08:49:37 0000", "Sun, 06 Nov 1994 08:49:37 +000",
    "Sun, 06 Nov 1994 08:49:37 +00000", "Sun, 06 Nov 1994 08:49:37 +0060", "Sun, 06 Nov 1994 08:49:37 +2400",
    "Sun, 06 Nov 1994 08:49:37 +00:00", "Sun, 06 Nov 1994 08:49:37",
  ])
  func nonDates(text: String) {
    #expect(HTTPDate.parse(text, now: Self.now) == nil)
  }

  /// In each of the three forms.
  @Test(arguments: [
    ("30", "Feb", 2024), ("29", "Feb", 2023), ("29", "Feb", 1900), ("31", "Apr", 2024), ("31", "Jun", 2024),
    ("31", "Sep", 2024), ("31", "Nov", 2024),
  ])
  func daysThatThereAreNot(day: String, month: String, year: Int) {
    let short = String(year % 100 + 100).dropFirst()
    for text in [
      "Sun, \(day) \(month) \(year) 08:49:37 GMT", "Sun \(month) \(day) 08:49:37 \(year)",
      "Sunday, \(day)-\(month)-\(short) 08:49:37 GMT",
    ] where !(year == 1900 && text.hasPrefix("Sunday")) {
      #expect(HTTPDate.parse(text, now: Self.now) == nil, "\(text)")
    }
  }

  @Test func agreesWithFoundation() {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    var generator = SeededRandom(seed: 2)
    for _ in 0..<200 {
      let time = Int.random(in: -2_000_000_000...8_000_000_000, using: &generator)
      let text = formatter.string(from: Date(timeIntervalSince1970: Double(time)))
      #expect(HTTPDate.parse(text, now: Self.now) == time, "\(text)")
      #expect(HTTPDate.text(secondsSince1970: time) == text)
    }
  }
}
