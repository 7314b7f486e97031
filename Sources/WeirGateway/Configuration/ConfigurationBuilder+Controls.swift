import Weir

// What bounds the attempts at a route's upstream. Each has its defaults, from which a key departs.

extension ConfigurationReader {
  /// Nil for `off`, and for what can't be read.
  func retryBudget() -> RetryBudget? {
    if isOff { return nil }
    return mapping(orOff: true) { keys in
      var budget = RetryBudget()
      if let ratio = keys.take("ratio", within: 0...1) { budget.ratio = ratio }
      if let rate = keys.take("minimumPerSecond", within: 0...1_000_000) { budget.minimumPerSecond = rate }
      if let burst = keys.take("burst", within: 0...1_000_000) { budget.burst = burst }
      if let window = keys.takeSeconds("window", within: RetryBudget.windows) { budget.window = window }
      return budget
    }
  }
}

extension ConfigurationKeys {
  fileprivate mutating func take(_ key: String, within range: ClosedRange<Double>) -> Double? {
    take(key, as: .number) {
      range.contains($0) ? nil : "must be \(text(range.lowerBound)) to \(text(range.upperBound))"
    }
  }

  /// Of a duration.
  fileprivate mutating func takeSeconds(_ key: String, within range: ClosedRange<Double>) -> Double? {
    let duration = take(key, as: .duration) {
      range.contains($0 / .seconds(1)) ? nil : "must be \(text(range.lowerBound))s to \(text(range.upperBound))s"
    }
    return duration.map { $0 / .seconds(1) }
  }
}

private func text(_ number: Double) -> String {
  Int(exactly: number).map { "\($0)" } ?? "\(number)"
}
