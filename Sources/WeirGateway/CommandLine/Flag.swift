import Weir
import WeirExporter
import WeirHTTP
import WeirIO
import WeirMetrics

/// The words of a flag without its effect, for help, completions and manual pages.
struct FlagWords: Equatable {
  let name: String
  /// The word that stands for the value; nil for a flag without one.
  var value: String?
  let help: String
  var isRepeatable = false
  var candidates = Candidates.none

  /// `--flag=VALUE`, or `--flag` for one without a value.
  var form: String { name + (value.map { "=\($0)" } ?? "") }
}

/// Values that a shell may propose for a flag or an argument.
enum Candidates: Equatable {
  case none
  case files
  case words([String])
}

/// A flag of a command whose options are `Options`.
struct Flag<Options> {
  let words: FlagWords
  /// Sets the option. Returns what to give in place of a text that won't do.
  let apply: (inout Options, String) -> String?

  /// A flag without a value.
  init(_ name: String, _ help: String, apply: @escaping (inout Options) -> Void) {
    words = FlagWords(name: name, help: help)
    self.apply = { options, _ in
      apply(&options)
      return nil
    }
  }

  /// A flag with a value that `put` puts into the options. It returns what to give in its place if it won't do.
  init<Value>(
    _ name: String, _ value: FlagValue<Value>, _ help: String, isRepeatable: Bool = false,
    put: @escaping (inout Options, Value) -> String?
  ) {
    words = FlagWords(
      name: name, value: value.word, help: help, isRepeatable: isRepeatable, candidates: value.candidates)
    apply = { options, text in
      guard let value = value.read(text) else { return value.expected }
      return put(&options, value)
    }
  }

  init<Value>(
    _ name: String, _ value: FlagValue<Value>, _ option: WritableKeyPath<Options, Value>, _ help: String
  ) {
    self.init(name, value, help) { options, value in
      options[keyPath: option] = value
      return nil
    }
  }

  init<Value>(
    _ name: String, _ value: FlagValue<Value>, _ option: WritableKeyPath<Options, Value?>, _ help: String
  ) {
    self.init(name, value, help) { options, value in
      options[keyPath: option] = value
      return nil
    }
  }
}

extension Flag<ServeOptions> {
  static var all: [Self] {
    [
      Flag("--config.file", file, \.configFile, "Routes, as YAML. Default: a demo origin behind the gateway."),
      Flag(
        "--config.watch", interval, \.watchInterval,
        "How often to look for changed files, which are read again. Default: never."),
      Flag(
        "--gateway.listen-address", address, \.gatewayAddress,
        "Requests to forward. Default: 127.0.0.1:8080, or the file's listeners."),
      Flag(
        "--gateway.workers", number(ServeOptions.workers), \.workers,
        "Event loops that forward. Default: one for each core weir may use."),
      Flag(
        "--gateway.shutdown-delay", duration(from: .zero), \.shutdownDelay,
        "How long to accept requests, not ready, after SIGTERM. Default: 0s."),
      Flag(
        "--gateway.drain-timeout", duration(from: .zero), \.drainTimeout,
        "How long requests may then take to end. Default: 30s."),
      Flag("--web.listen-address", address, \.webAddress, "Metrics and health. Default: 127.0.0.1:9464."),
      Flag("--web.config.file", file, \.webConfigFile, "TLS and access of the metrics, as YAML. Default: open."),
      Flag(
        "--probe.config.file", file, \.probeConfigFile,
        "Modules and targets of /probe at the metrics address, as YAML."),
      Flag(
        "--web.enable-lifecycle", "POST to /-/reload and /-/quit of the metrics address reloads and ends weir."
      ) { $0.enablesLifecycle = true },
      Flag(
        "--metrics.destination-limit", number(0...100_000), \.destinationLimit,
        "Upstreams with series of their own. Default: 200."),
      Flag(
        "--metrics.operation-limit", number(0...MetricsMonitor.mostOperations), \.operationLimit,
        "Operations of each upstream with series of their own. Default: 20."),
      Flag(
        "--metrics.endpoint-limit", number(0...100_000), \.endpointLimit,
        "Endpoints of upstreams with series of their own. Default: 500."),
      Flag(
        "--metrics.buckets", histogram, "Upper bounds of a histogram. May be given several times.", isRepeatable: true
      ) { options, value in
        options.buckets.updateValue(value.buckets, forKey: value.name) == nil ? nil : "each histogram once"
      },
      Flag(
        "--metrics.native-histograms", histograms, \.nativeHistograms,
        "Histograms with native buckets too, or all. Default: none."),
      Flag("--log.level", choice("LEVEL"), \.logLevel, "One of debug, info, warn, error. Default: info."),
      Flag("--log.format", choice("FORMAT"), \.logFormat, "One of logfmt, json. Default: logfmt."),
    ]
  }
}

extension Flag<CheckOptions> {
  static var all: [Self] {
    [
      Flag(
        "--web.config.file", file, \.webConfigFile, "Check also, or only, a file for serve's flag of this name."),
      Flag("--probe.config.file", file, \.probeConfigFile, "The same for that flag of serve's."),
      Flag("--credentials", "Fetch each credential of FILE once, and say what came.") { $0.fetchesCredentials = true },
    ]
  }
}

extension Flag<ProbeOptions> {
  static var all: [Self] {
    [
      Flag("--method", method, \.method, "Default: GET."),
      Flag("--header", header, "A field to send. May be given several times.", isRepeatable: true) {
        $0.headers.append($1)
        return nil
      },
      Flag("--fail", "Exit with 1 also for a status of 400 or more, for health checks.") { $0.failsByStatus = true },
      Flag("--timeout", duration(from: .milliseconds(1)), \.timeout, "For the whole request. Default: 30s."),
      Flag(
        "--destination-policy", destinationPolicy, \.destinationPolicy,
        "Addresses to connect to, redirects included: any, publicOnly. Default: any."),
      Flag(
        "--tls.ca", file, \.authorities,
        "Certificates of the authorities to trust, as PEM. Default: the system's."),
      Flag("--module", module, \.module, "Probe by this module and print its metrics, as /probe does."),
      Flag("--probe.config.file", file, \.configFile, "The file with the module. Default: http_2xx alone."),
    ]
  }
}

// MARK: Values

/// A kind of values of flags.
struct FlagValue<Value>: Sendable {
  /// The word that stands for a value in the usage text.
  let word: String
  /// What to give in place of a text that is no such value.
  let expected: String
  let candidates: Candidates
  /// Nil for a text that is no such value.
  let read: @Sendable (String) -> Value?

  init(
    _ word: String, _ expected: String, candidates: Candidates = .none, read: @escaping @Sendable (String) -> Value?
  ) {
    self.word = word
    self.expected = expected
    self.candidates = candidates
    self.read = read
  }
}

private let file = FlagValue("FILE", "a file's path", candidates: .files) { $0.isEmpty ? nil : $0 }
private let module = FlagValue("NAME", "a module's name") { $0.isEmpty ? nil : $0 }
private let method = FlagValue("METHOD", "a method name") { FieldSyntax.isToken($0) ? $0 : nil }
private let interval = duration(from: .seconds(1), "a duration from 1s to 1d, such as 10s")
private let destinationPolicy = choice("POLICY", [("any", DestinationPolicy.any), ("publicOnly", .publicOnly)])

private let address = FlagValue(
  "ADDRESS", "an address and a port, such as 127.0.0.1:8080, [::1]:8080 or :8080, or unix:/path"
) { try? SocketAddress(parsing: $0) }

private func choice<Value: Sendable>(_ word: String, _ values: [(word: String, value: Value)]) -> FlagValue<Value> {
  let words = values.map(\.word)
  return FlagValue(word, "one of \(words.joined(separator: ", "))", candidates: .words(words)) { text in
    values.first { $0.word == text }?.value
  }
}

private func choice<Value: RawRepresentable<String> & CaseIterable & Sendable>(_ word: String) -> FlagValue<Value> {
  choice(word, Value.allCases.map { ($0.rawValue, $0) })
}

private func number(_ range: ClosedRange<Int>) -> FlagValue<Int> {
  FlagValue("N", "a number from \(range.lowerBound) to \(range.upperBound)") { text in
    Int(text).flatMap { range.contains($0) ? $0 : nil }
  }
}

private func duration(
  from least: Duration, _ expected: String = "a duration of at most 1d, such as 30s, 500ms or 1m30s"
) -> FlagValue<Duration> {
  FlagValue("DURATION", expected) { text in
    ConfigurationDuration.parse(text).flatMap { $0 >= least && $0 <= .seconds(86_400) ? $0 : nil }
  }
}

private let header = FlagValue("'NAME: VALUE'", "a header field, such as 'Accept: text/plain'") { text -> HeaderRule? in
  let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
  let value = parts.last?.drop { $0 == " " } ?? ""
  guard parts.count == 2, FieldSyntax.isToken(parts[0].utf8), FieldSyntax.isValue(value.utf8) else { return nil }
  return HeaderRule(name: String(parts[0]), value: String(value))
}

private let histograms = FlagValue(
  "NAME,NAME", "names of histograms, such as weir_request_duration_seconds,weir_phase_duration_seconds, or all"
) { text -> NativeHistograms? in
  let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  return names == ["all"] ? .all : names.contains("") ? nil : .named(Set(names))
}

private let histogram = FlagValue(
  "NAME=0.1,0.5,1",
  "a histogram and its upper bounds, finite and increasing, at most \(Buckets.limit), such as "
    + "weir_phase_duration_seconds=0.001,0.01,0.1,1"
) { text -> (name: String, buckets: Buckets)? in
  let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
  let bounds = parts.last?.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) } ?? []
  let buckets = Buckets(bounds.compactMap(\.self))
  guard parts.count == 2, buckets.bounds.count == bounds.count, buckets.bounds.allSatisfy(\.isFinite),
    case .success = buckets.checked()
  else { return nil }
  return (parts[0], buckets)
}
