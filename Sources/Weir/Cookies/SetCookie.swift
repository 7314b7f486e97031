import WeirHTTP

/// A Set-Cookie field, parsed from its octets as RFC 6265 §5.2 demands. Foundation's parser is not used: it splits
/// fields at commas and accepts fields that must be ignored.
struct SetCookie: Hashable, Sendable {
  var name: String
  var value: String
  /// Seconds since 1970.
  var expires: Double?
  /// Seconds from now; takes precedence over ``expires``.
  var maxAge: Double?
  /// In lower case and without the leading dot; nil if the field has no domain.
  var domain: String?
  /// Nil means the default path.
  var path: String?
  var isSecure = false
  var isHTTPOnly = false

  /// Longer attributes are ignored.
  private static let maximumAttribute = 1024

  /// Nil if the field sets no cookie: it has no name, is longer than a cookie may be, holds control characters, or is
  /// not UTF-8. Other octets could not be sent back as they came.
  init?(_ field: UnsafeRawBufferPointer) {
    guard !field.contains(where: { $0 < 0x20 && $0 != .tab || $0 == 0x7F }) else { return nil }
    let pairEnd = field.firstIndex(of: .semicolon) ?? field.count
    let pair = field.octets(0..<pairEnd).nameAndValue
    guard !pair.name.isEmpty, let value = pair.value, pair.name.count + value.count <= CookieJar.maximumSize,
      let name = Self.text(pair.name), let value = Self.text(value)
    else { return nil }
    (self.name, self.value) = (name, value)
    guard pairEnd < field.count else { return }
    // The field has no quoted strings: each semicolon separates attributes.
    for attribute in FieldParts(field.octets(pairEnd + 1..<field.count), separator: .semicolon, respectsQuotes: false) {
      take(attribute)
    }
  }

  /// The last valid attribute of a kind counts.
  private mutating func take(_ attribute: UnsafeRawBufferPointer) {
    let (name, text) = attribute.nameAndValue
    let value = text ?? attribute.octets(0..<0)
    guard value.count <= Self.maximumAttribute else { return }
    if name.spells("expires") {
      expires = CookieDate.parse(value).map(Double.init) ?? expires
    } else if name.spells("max-age") {
      maxAge = Self.delta(value) ?? maxAge
    } else if name.spells("domain") {
      if !value.isEmpty { domain = Self.domain(value) }
    } else if name.spells("path") {
      path = value.first == .slash ? Self.text(value) : nil
    } else if name.spells("secure") {
      isSecure = true
    } else if name.spells("httponly") {
      isHTTPOnly = true
    }
  }

  private static func domain(_ value: UnsafeRawBufferPointer) -> String? {
    let rest = value.first == UInt8(ascii: ".") ? value.octets(1..<value.count) : value
    return rest.isEmpty ? nil : FieldSyntax.lowercased(rest)
  }

  /// Digits, optionally after a minus sign (§5.2.2). A value that is too large is cut to the greatest that can be
  /// represented.
  private static func delta(_ value: UnsafeRawBufferPointer) -> Double? {
    if value.first == UInt8(ascii: "-") { return value.octets(1..<value.count).decimal.map { -Double($0) } }
    return value.decimal.map(Double.init)
  }

  private static func text(_ octets: UnsafeRawBufferPointer) -> String? {
    String(validating: octets.bindMemory(to: UInt8.self), as: UTF8.self)
  }
}

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
