// Numbers and durations within ranges.

extension ConfigurationKeys {
  mutating func takeCount(_ key: String, within range: ClosedRange<Int>) -> Int? {
    take(key)?.count(within: range)
  }

  mutating func take(_ key: String, within range: ClosedRange<Double>) -> Double? {
    take(key)?.number(within: range)
  }

  /// The seconds of a duration.
  mutating func takeSeconds(_ key: String, within range: ClosedRange<Double>) -> Double? {
    take(key)?.seconds(within: range)
  }

  /// The seconds of a duration; nil within for `off`, and nil for a missing or an invalid value.
  mutating func takeSecondsOrOff(_ key: String, within range: ClosedRange<Double>) -> Double?? {
    guard let reader = take(key) else { return nil }
    if reader.isOff { return .some(nil) }
    return reader.seconds(within: range, orOff: true).map { .some($0) }
  }

  /// Reads the longest silence of an upstream, in seconds: 0 for `off`.
  mutating func takeSilenceTimeout() -> Double? {
    takeSecondsOrOff("silenceTimeout", within: 0.1...3600).map { $0 ?? 0 }
  }
}

extension ConfigurationReader {
  func count(within range: ClosedRange<Int>) -> Int? {
    read(as: .integer) { range.contains($0) ? nil : "must be \(range.lowerBound) to \(range.upperBound)" }
  }

  func number(within range: ClosedRange<Double>) -> Double? {
    read(as: .number) {
      range.contains($0) ? nil : "must be \(text(range.lowerBound)) to \(text(range.upperBound))"
    }
  }

  /// - Parameter orOff: Whether the value could also be the word `off`, which the texts of errors mention then.
  func seconds(within range: ClosedRange<Double>, orOff: Bool = false) -> Double? {
    let alternative = orOff ? " or off" : ""
    var kind = ConfigurationKind.duration
    kind.name += alternative
    let duration = read(as: kind) {
      range.contains($0 / .seconds(1))
        ? nil : "must be \(text(range.lowerBound))s to \(text(range.upperBound))s\(alternative)"
    }
    return duration.map { $0 / .seconds(1) }
  }
}

func text(_ number: Double) -> String {
  Int(exactly: number).map { "\($0)" } ?? "\(number)"
}
