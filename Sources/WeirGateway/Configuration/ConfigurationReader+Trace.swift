import WeirHTTP

// Traces, and identifiers of requests.

extension ConfigurationReader {
  func trace() -> TraceSettings? {
    mapping(orOff: true) { keys in
      var settings = TraceSettings()
      if let begins = keys.take("begin", as: .boolean) { settings.begins = begins }
      if let share = keys.take("sample", within: 0...1) { settings.sample = share }
      return settings
    }
  }

  func requestID() -> RequestIDSettings? {
    mapping(orOff: true) { keys in
      var settings = RequestIDSettings()
      let header = keys.take("header", as: .string) { HeaderRules.problem(settingEverywhere: $0) }
      if let header { settings.header = header }
      if let trust = keys.take("trust", as: .boolean) { settings.trust = trust }
      return settings
    }
  }
}

extension HeaderRules {
  private static let meaningful: Set = [
    "forwarded", "grpc-timeout", "host", "max-forwards", "priority", "traceparent", "tracestate",
    "x-envoy-attempt-count", "x-envoy-expected-rq-timeout-ms", "x-retry-attempt",
  ]

  /// The reason why a field can be set neither in requests nor in responses.
  fileprivate static func problem(settingEverywhere name: String) -> String? {
    let lowercased = FieldSyntax.lowercased(name)
    if lowercased.hasPrefix("x-forwarded-") || meaningful.contains(lowercased) {
      return "\(name) has a meaning of its own here; give another field"
    }
    return problem(setting: name, of: .requests) ?? problem(setting: name, of: .responses)
  }
}
