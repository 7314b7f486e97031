import Weir
import WeirHTTP
import WeirIO
import WeirMetrics

/// A flag that takes a value, of a command whose options are `Options`.
struct Flag<Options> {
  let name: String
  /// What stands for the value in the usage text.
  let value: String
  let help: String
  var isRepeatable = false
  /// Throws what the value should have been.
  let apply: (inout Options, String) throws(FlagValueError) -> Void
}

struct FlagValueError: Error {
  let expected: String
}

extension Flag<ServeOptions> {
  static var all: [Self] {
    [
      Flag(name: "--config.file", value: "FILE", help: "Routes, as YAML. Default: a demo origin behind the gateway.") {
        options, text throws(FlagValueError) in
        options.configFile = try path(text)
      },
      Flag(
        name: "--gateway.listen-address", value: "ADDRESS", help: "Requests to forward. Default: 127.0.0.1:8080."
      ) { options, text throws(FlagValueError) in
        options.gatewayAddress = try address(text)
      },
      Flag(name: "--gateway.workers", value: "N", help: "Event loops that forward. Default: one per core.") {
        options, text throws(FlagValueError) in
        guard let count = Int(text), (1...256).contains(count) else {
          throw FlagValueError(expected: "a number from 1 to 256")
        }
        options.workers = count
      },
      Flag(
        name: "--gateway.shutdown-delay", value: "DURATION",
        help: "How long to accept requests, not ready, after SIGTERM. Default: 0s."
      ) { options, text throws(FlagValueError) in
        options.shutdownDelay = try duration(text, from: .zero)
      },
      Flag(
        name: "--gateway.drain-timeout", value: "DURATION",
        help: "How long requests may then take to end. Default: 30s."
      ) { options, text throws(FlagValueError) in
        options.drainTimeout = try duration(text, from: .zero)
      },
      Flag(name: "--web.listen-address", value: "ADDRESS", help: "Metrics and health. Default: 127.0.0.1:9464.") {
        options, text throws(FlagValueError) in
        options.webAddress = try address(text)
      },
      Flag(
        name: "--web.config.file", value: "FILE",
        help: "Who may see the metrics, as YAML. Default: everybody."
      ) { options, text throws(FlagValueError) in
        options.webConfigFile = try path(text)
      },
      Flag(
        name: "--metrics.destination-limit", value: "N",
        help: "Upstreams with series of their own. Default: 200."
      ) { options, text throws(FlagValueError) in
        guard let limit = Int(text), (0...100_000).contains(limit) else {
          throw FlagValueError(expected: "a number from 0 to 100000")
        }
        options.destinationLimit = limit
      },
      Flag(
        name: "--metrics.buckets", value: "NAME=0.1,0.5,1",
        help: "Upper bounds of a histogram. May be given several times.",
        isRepeatable: true
      ) { options, text throws(FlagValueError) in
        let (name, buckets) = try namedBuckets(text)
        guard options.buckets.updateValue(buckets, forKey: name) == nil else {
          throw FlagValueError(expected: "each histogram once")
        }
      },
      Flag(name: "--log.level", value: "LEVEL", help: "One of debug, info, warn, error. Default: info.") {
        options, text throws(FlagValueError) in
        options.logLevel = try choice(text)
      },
      Flag(name: "--log.format", value: "FORMAT", help: "One of logfmt, json. Default: logfmt.") {
        options, text throws(FlagValueError) in
        options.logFormat = try choice(text)
      },
    ]
  }

  private static func address(_ text: String) throws(FlagValueError) -> SocketAddress {
    do {
      return try SocketAddress(parsing: text)
    } catch {
      throw FlagValueError(
        expected: "an address and a port, such as 127.0.0.1:8080, [::1]:8080 or :8080, or unix:/path")
    }
  }

  private static func choice<T: RawRepresentable<String> & CaseIterable>(_ text: String) throws(FlagValueError) -> T {
    guard let value = T(rawValue: text) else {
      throw FlagValueError(expected: "one of \(T.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return value
  }
}

extension Flag<CheckOptions> {
  static var all: [Self] {
    [
      Flag(
        name: "--web.config.file", value: "FILE", help: "Check also, or only, a file for serve's flag of this name."
      ) { options, text throws(FlagValueError) in
        options.webConfigFile = try path(text)
      }
    ]
  }
}

extension Flag<ProbeOptions> {
  static var all: [Self] {
    [
      Flag(name: "--method", value: "METHOD", help: "Default: GET.") { options, text throws(FlagValueError) in
        guard FieldSyntax.isToken(text) else { throw FlagValueError(expected: "a method name") }
        options.method = text
      },
      Flag(
        name: "--header", value: "'NAME: VALUE'", help: "A field to send. May be given several times.",
        isRepeatable: true
      ) {
        options, text throws(FlagValueError) in
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.last?.drop { $0 == " " } ?? ""
        guard parts.count == 2, FieldSyntax.isToken(parts[0].utf8), FieldSyntax.isValue(value.utf8) else {
          throw FlagValueError(expected: "a header field, such as 'Accept: text/plain'")
        }
        options.headers.append(HeaderRule(name: String(parts[0]), value: String(value)))
      },
      Flag(name: "--timeout", value: "DURATION", help: "For the whole request. Default: 30s.") {
        options, text throws(FlagValueError) in
        options.timeout = try duration(text, from: .milliseconds(1))
      },
      Flag(
        name: "--destination-policy", value: "POLICY",
        help: "Addresses to connect to, redirects included: any, publicOnly. Default: any."
      ) { options, text throws(FlagValueError) in
        switch text {
        case "any": options.destinationPolicy = .any
        case "publicOnly": options.destinationPolicy = .publicOnly
        default: throw FlagValueError(expected: "one of any, publicOnly")
        }
      },
    ]
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

private func path(_ text: String) throws(FlagValueError) -> String {
  guard !text.isEmpty else { throw FlagValueError(expected: "a file's path") }
  return text
}

private func duration(_ text: String, from least: Duration) throws(FlagValueError) -> Duration {
  guard let duration = ConfigurationDuration.parse(text), duration >= least, duration <= .seconds(86_400) else {
    throw FlagValueError(expected: "a duration of at most 1d, such as 30s, 500ms or 1m30s")
  }
  return duration
}
