import Weir
import WeirHTTP
import WeirIO
import WeirMetrics

/// A flag of a command whose options are `Options`.
struct Flag<Options> {
  let name: String
  /// The word that stands for the value in the usage text; nil for a flag without a value.
  let value: String?
  let help: String
  var isRepeatable = false
  /// The only words that the value may be; empty if it may be others.
  var choices: [String] = []
  /// Sets the option, or throws a description of valid values.
  let apply: (inout Options, String) throws(FlagValueError) -> Void
}

struct FlagValueError: Error {
  let expected: String
}

extension Flag {
  /// Makes a flag whose value, parsed by `read`, becomes the option at `option`.
  init<Value>(
    _ name: String, value: String, help: String, sets option: WritableKeyPath<Options, Value>,
    _ read: @escaping (String) throws(FlagValueError) -> Value
  ) {
    self.init(name: name, value: value, help: help) { options, text throws(FlagValueError) in
      options[keyPath: option] = try read(text)
    }
  }
}

extension Flag {
  /// Makes a flag whose value is one of the words of a type.
  init<Value: RawRepresentable<String> & CaseIterable>(
    _ name: String, value: String, help: String, choosing option: WritableKeyPath<Options, Value>
  ) {
    self.init(name, value: value, help: help, sets: option, choice)
    choices = Value.allCases.map(\.rawValue)
  }

  /// The same flag, whose value is one of these words.
  fileprivate func choosing(_ words: [String]) -> Self {
    var flag = self
    flag.choices = words
    return flag
  }
}

extension Flag<ServeOptions> {
  static var all: [Self] {
    [
      Flag(
        "--config.file", value: "FILE", help: "Routes, as YAML. Default: a demo origin behind the gateway.",
        sets: \.configFile, path),
      Flag(
        "--config.watch", value: "DURATION",
        help: "How often to look for changed files, which are read again. Default: never.",
        sets: \.watchInterval, interval),
      Flag(
        "--gateway.listen-address", value: "ADDRESS",
        help: "Requests to forward. Default: 127.0.0.1:8080, or the file's listeners.",
        sets: \.gatewayAddress, address),
      Flag(
        "--gateway.workers", value: "N", help: "Event loops that forward. Default: one for each core weir may use.",
        sets: \.workers, number(ServeOptions.workers)),
      Flag(
        "--gateway.shutdown-delay", value: "DURATION",
        help: "How long to accept requests, not ready, after SIGTERM. Default: 0s.",
        sets: \.shutdownDelay, duration(from: .zero)),
      Flag(
        "--gateway.drain-timeout", value: "DURATION", help: "How long requests may then take to end. Default: 30s.",
        sets: \.drainTimeout, duration(from: .zero)),
      Flag(
        "--web.listen-address", value: "ADDRESS", help: "Metrics and health. Default: 127.0.0.1:9464.",
        sets: \.webAddress, address),
      Flag(
        "--web.config.file", value: "FILE", help: "TLS and access of the metrics, as YAML. Default: open.",
        sets: \.webConfigFile, path),
      Flag(
        "--probe.config.file", value: "FILE",
        help: "Modules and targets of /probe at the metrics address, as YAML.", sets: \.probeConfigFile, path),
      Flag(
        name: "--web.enable-lifecycle", value: nil,
        help: "POST to /-/reload and /-/quit of the metrics address reloads and ends weir."
      ) { options, _ in options.enablesLifecycle = true },
      Flag(
        "--metrics.destination-limit", value: "N", help: "Upstreams with series of their own. Default: 200.",
        sets: \.destinationLimit, number(0...100_000)),
      Flag(
        "--metrics.endpoint-limit", value: "N",
        help: "Endpoints of upstreams with series of their own. Default: 500.",
        sets: \.endpointLimit, number(0...100_000)),
      Flag(
        name: "--metrics.buckets", value: "NAME=0.1,0.5,1",
        help: "Upper bounds of a histogram. May be given several times.", isRepeatable: true
      ) { options, text throws(FlagValueError) in
        let (name, buckets) = try namedBuckets(text)
        guard options.buckets.updateValue(buckets, forKey: name) == nil else {
          throw FlagValueError(expected: "each histogram once")
        }
      },
      Flag(
        "--log.level", value: "LEVEL", help: "One of debug, info, warn, error. Default: info.", choosing: \.logLevel),
      Flag("--log.format", value: "FORMAT", help: "One of logfmt, json. Default: logfmt.", choosing: \.logFormat),
    ]
  }
}

extension Flag<CheckOptions> {
  static var all: [Self] {
    [
      Flag(
        "--web.config.file", value: "FILE", help: "Check also, or only, a file for serve's flag of this name.",
        sets: \.webConfigFile, path),
      Flag(
        "--probe.config.file", value: "FILE", help: "The same for that flag of serve's.",
        sets: \.probeConfigFile, path),
    ]
  }
}

extension Flag<ProbeOptions> {
  static var all: [Self] {
    [
      Flag("--method", value: "METHOD", help: "Default: GET.", sets: \.method, method),
      Flag(
        name: "--header", value: "'NAME: VALUE'", help: "A field to send. May be given several times.",
        isRepeatable: true
      ) { options, text throws(FlagValueError) in
        options.headers.append(try header(text))
      },
      Flag(
        name: "--fail", value: nil, help: "Exit with 1 also for a status of 400 or more, for health checks."
      ) { options, _ in options.failsByStatus = true },
      Flag(
        "--timeout", value: "DURATION", help: "For the whole request. Default: 30s.",
        sets: \.timeout, duration(from: .milliseconds(1))),
      Flag(
        "--destination-policy", value: "POLICY",
        help: "Addresses to connect to, redirects included: any, publicOnly. Default: any.",
        sets: \.destinationPolicy, destinationPolicy
      ).choosing(["any", "publicOnly"]),
      Flag(
        "--tls.ca", value: "FILE",
        help: "Certificates of the authorities to trust, as PEM. Default: the system's.", sets: \.authorities, path),
      Flag(
        "--module", value: "NAME", help: "Probe by this module and print its metrics, as /probe does.",
        sets: \.module, module),
      Flag(
        "--probe.config.file", value: "FILE", help: "The file with the module. Default: http_2xx alone.",
        sets: \.configFile, path),
    ]
  }
}

// Parsers of the flags' values.

private func address(_ text: String) throws(FlagValueError) -> SocketAddress {
  do {
    return try SocketAddress(parsing: text)
  } catch {
    throw FlagValueError(
      expected: "an address and a port, such as 127.0.0.1:8080, [::1]:8080 or :8080, or unix:/path")
  }
}

private func choice<T: RawRepresentable<String> & CaseIterable>(_ text: String) throws(FlagValueError) -> T {
  guard let value = T(rawValue: text) else {
    throw FlagValueError(expected: "one of \(T.allCases.map(\.rawValue).joined(separator: ", "))")
  }
  return value
}

private func number(_ range: ClosedRange<Int>) -> (String) throws(FlagValueError) -> Int {
  { text throws(FlagValueError) in
    guard let number = Int(text), range.contains(number) else {
      throw FlagValueError(expected: "a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

private func duration(from least: Duration) -> (String) throws(FlagValueError) -> Duration {
  { text throws(FlagValueError) in
    guard let duration = ConfigurationDuration.parse(text), duration >= least, duration <= .seconds(86_400) else {
      throw FlagValueError(expected: "a duration of at most 1d, such as 30s, 500ms or 1m30s")
    }
    return duration
  }
}

private func interval(_ text: String) throws(FlagValueError) -> Duration? {
  guard let interval = ConfigurationDuration.parse(text), interval >= .seconds(1), interval <= .seconds(86_400) else {
    throw FlagValueError(expected: "a duration from 1s to 1d, such as 10s")
  }
  return interval
}

private func path(_ text: String) throws(FlagValueError) -> String {
  guard !text.isEmpty else { throw FlagValueError(expected: "a file's path") }
  return text
}

private func module(_ text: String) throws(FlagValueError) -> String? {
  guard !text.isEmpty else { throw FlagValueError(expected: "a module's name") }
  return text
}

private func method(_ text: String) throws(FlagValueError) -> String {
  guard FieldSyntax.isToken(text) else { throw FlagValueError(expected: "a method name") }
  return text
}

private func header(_ text: String) throws(FlagValueError) -> HeaderRule {
  let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
  let value = parts.last?.drop { $0 == " " } ?? ""
  guard parts.count == 2, FieldSyntax.isToken(parts[0].utf8), FieldSyntax.isValue(value.utf8) else {
    throw FlagValueError(expected: "a header field, such as 'Accept: text/plain'")
  }
  return HeaderRule(name: String(parts[0]), value: String(value))
}

private func destinationPolicy(_ text: String) throws(FlagValueError) -> DestinationPolicy {
  switch text {
  case "any": .any
  case "publicOnly": .publicOnly
  default: throw FlagValueError(expected: "one of any, publicOnly")
  }
}

private func namedBuckets(_ text: String) throws(FlagValueError) -> (name: String, Buckets) {
  let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
  let bounds = parts.last?.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) } ?? []
  let buckets = Buckets(bounds.compactMap(\.self))
  guard parts.count == 2, buckets.bounds.count == bounds.count, buckets.bounds.allSatisfy(\.isFinite),
    case .success = buckets.checked()
  else {
    throw FlagValueError(
      expected: "a histogram and its upper bounds, finite and increasing, at most \(Buckets.limit), such as "
        + "weir_phase_duration_seconds=0.001,0.01,0.1,1")
  }
  return (parts[0], buckets)
}
