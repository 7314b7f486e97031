/// A length of time in configurations and flags: `30s`, `500ms`, `1m30s`, `1.5s`, or a plain number of seconds.
enum ConfigurationDuration {
  /// Reads numbers with units from days down to milliseconds, largest first, each unit once; or a bare number of
  /// seconds. Nil for anything else, and for more than a hundred years.
  static func parse(_ text: String) -> Duration? {
    var rest = text.utf8[...]
    var total: Duration = .zero
    var smallest = Int.max
    guard !rest.isEmpty, rest.count <= 64 else { return nil }
    while !rest.isEmpty {
      guard let number = takeNumber(&rest) else { return nil }
      let name = String(Substring(rest.prefix { $0 != UInt8(ascii: ".") && $0 &- UInt8(ascii: "0") >= 10 }))
      rest.removeFirst(name.utf8.count)
      if name.isEmpty {
        guard smallest == Int.max, rest.isEmpty else { return nil }
        return duration(seconds: number)
      }
      guard let unit = units.first(where: { $0.name == name }), unit.milliseconds < smallest else { return nil }
      smallest = unit.milliseconds
      guard let part = duration(seconds: number * Double(unit.milliseconds) / 1000) else { return nil }
      total += part
    }
    return total
  }

  private static let units = [
    (name: "d", milliseconds: 86_400_000), (name: "h", milliseconds: 3_600_000), (name: "m", milliseconds: 60_000),
    (name: "s", milliseconds: 1000), (name: "ms", milliseconds: 1),
  ]

  /// Reads digits with at most one dot among them.
  private static func takeNumber(_ rest: inout Substring.UTF8View) -> Double? {
    let digits = rest.prefix { $0 == UInt8(ascii: ".") || $0 &- UInt8(ascii: "0") < 10 }
    rest.removeFirst(digits.count)
    guard digits.first != UInt8(ascii: "."), digits.last != UInt8(ascii: ".") else { return nil }
    return Double(Substring(digits))
  }

  /// The duration of `seconds`; nil for more than a hundred years.
  static func duration(seconds: Double) -> Duration? {
    // The check also refuses NaN. The result is rounded to the microsecond: 0.1 s is 100 ms, not its nearest binary
    // number.
    guard abs(seconds) <= 100 * 366 * 86_400 else { return nil }
    return .microseconds(Int64((seconds * 1_000_000).rounded()))
  }

  // MARK: Writing

  /// The shortest time that is told apart from none, in seconds.
  static let least = 0.000_001

  /// A number as it is written in files: `1.5`, and `2` for 2.0.
  static func text(_ number: Double) -> String {
    Int(exactly: number).map { "\($0)" } ?? "\(number)"
  }

  /// A time in the largest unit in which it is whole: `60s`, `2m`, `1h`, `1d`; `1.5s`, and milliseconds below a second.
  static func text(seconds: Double) -> String {
    let milliseconds = (seconds * 1000).rounded()
    guard abs(milliseconds / 1000 - seconds) < least, milliseconds != 0 else { return "\(text(seconds))s" }
    if milliseconds < 1000 { return "\(Int(milliseconds))ms" }
    let unit = units.first {
      $0.name != "ms" && Int(milliseconds) % $0.milliseconds == 0 && ($0.name != "m" || milliseconds >= 120_000)
    }
    return unit.map { "\(Int(milliseconds) / $0.milliseconds)\($0.name)" } ?? "\(text(seconds))s"
  }
}
