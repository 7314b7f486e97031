import Weir

// The limits on the attempts at a route's upstream. Each has its defaults; a key changes one of them.

extension ConfigurationReader {
  /// Nil for `off`, and for an invalid value.
  func retryBudget() -> RetryBudget? {
    mapping(orOff: true) { keys in
      var budget = RetryBudget()
      if let ratio = keys.take("ratio", within: 0...1) { budget.ratio = ratio }
      if let rate = keys.take("minimumPerSecond", within: 0...1_000_000) { budget.minimumPerSecond = rate }
      if let burst = keys.take("burst", within: 0...1_000_000) { budget.burst = burst }
      if let window = keys.takeSeconds("window", within: RetryBudget.windows) { budget.window = window }
      return budget
    }
  }

  /// Nil for `off`, and for an invalid value. An empty mapping is a breaker with all defaults.
  ///
  /// - Parameter ignored: Called with each value that has no meaning any more.
  func circuitBreaker(ignored: (ConfigurationReader) -> Void) -> CircuitBreaker? {
    mapping(orOff: true) { keys in
      var breaker = CircuitBreaker()
      if let ratio = keys.take("failureRatio", within: 0.01...1) { breaker.failureRatio = ratio }
      if let count = keys.takeCount("minimumRequests", within: 1...1_000_000) { breaker.minimumRequests = count }
      if let window = keys.takeSeconds("window", within: CircuitBreaker.windows) { breaker.window = window }
      if let openFor = keys.take("openFor"), openFor.seconds(within: 0.1...CircuitBreaker.longestOpen) != nil {
        ignored(openFor)
      }
      if let probes = keys.take("halfOpenProbes"), probes.count(within: 1...1_000) != nil { ignored(probes) }
      return breaker
    }
  }

  /// Nil for `off`, and for an invalid value. An empty mapping has all defaults.
  func overload() -> OverloadSettings? {
    mapping(orOff: true, on: "it is on by default: leave the key out, or write {}") { keys in
      var settings = OverloadSettings()
      let waitOverloaded = keys.take("waitOverloaded"), silence = keys.take("silence")
      if let wait = keys.takeSeconds("wait", within: OverloadSettings.waits) { settings.wait = wait }
      // The default of `waitOverloaded` must not exceed a `wait` that is shorter.
      settings.waitOverloaded = min(settings.waitOverloaded, settings.wait)
      if let seconds = waitOverloaded?.seconds(within: 0...OverloadSettings.waits.upperBound) {
        settings.waitOverloaded = seconds
        if seconds > settings.wait { waitOverloaded?.report("must be at most wait, \(text(settings.wait))s") }
      }
      takeLimits(from: &keys, into: &settings)
      if let tolerance = keys.take("tolerance", within: OverloadSettings.tolerances) { settings.tolerance = tolerance }
      if let silence {
        settings.silence = silence.isOff ? nil : silence.seconds(within: OverloadSettings.silences, orOff: true)
      }
      if let priority = keys.take("priority", as: .boolean) { settings.priority = priority }
      return settings
    }
  }

  /// - Parameter timeout: The route's timeout.
  func hedge(before timeout: Duration) -> HedgePlan? {
    mapping(orOff: true) { keys in
      let (after, quantile) = (keys.take("after"), keys.take("quantile"))
      let limit = keys.takeCount("limit", within: 1...4) ?? 1
      if (after == nil) == (quantile == nil) {
        report("needs one of after (such as 200ms) and quantile (such as 0.95)")
      }
      let delay =
        after?.seconds(within: 0.001...60).map(HedgeDelay.seconds)
        ?? quantile?.number(within: 0.5...0.999).map(HedgeDelay.quantile)
      if let after, case .seconds(let seconds)? = delay, seconds >= timeout / .seconds(1) {
        after.report("must be less than the route's timeout, \(text(timeout / .seconds(1)))s")
      }
      return delay.map { HedgePlan(delay: $0, limit: limit) }
    }
  }

  /// The settings of `adaptiveConcurrency`, which load control has replaced. Three of its keys are keys of load control
  /// too; the others have no meaning any more. Nil for `off`, and for an invalid value.
  func adaptiveConcurrency() -> OverloadSettings? {
    mapping(orOff: true) { keys in
      var settings = OverloadSettings()
      let window = keys.take("window"), baseline = keys.take("baseline")
      takeLimits(from: &keys, into: &settings)
      if let tolerance = keys.take("tolerance", within: 1...100) {
        settings.tolerance = max(tolerance, OverloadSettings.tolerances.lowerBound)
      }
      _ = keys.take("smoothing", within: 0.01...1)
      _ = window?.seconds(within: 0.1...60)
      _ = baseline?.seconds(within: 1...3_600)
      return settings
    }
  }

  /// Reads the first limit and the least one.
  private func takeLimits(from keys: inout ConfigurationKeys, into settings: inout OverloadSettings) {
    let initial = keys.take("initial")
    if let minimum = keys.takeCount("minimum", within: OverloadSettings.limits) { settings.minimum = minimum }
    settings.initial = max(settings.initial, settings.minimum)
    guard let initial, let count = initial.count(within: OverloadSettings.limits) else { return }
    settings.initial = count
    if count < settings.minimum { initial.report("must be at least minimum, \(settings.minimum)") }
  }
}
