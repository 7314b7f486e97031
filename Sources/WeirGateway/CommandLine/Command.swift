package import Weir
package import WeirIO
package import WeirMetrics

/// The command that a command line asks for.
package enum Command: Equatable, Sendable {
  case serve(ServeOptions)
  case check(CheckOptions)
  case probe(ProbeOptions)
  case completion(Shell)
  case manual(ManualPage)
  case schema
  case help(HelpTopic)
  case version
}

package enum HelpTopic: String, CaseIterable, Sendable {
  case serve
  case check
  case probe
  case completion
  case manual
  case schema
}

package struct ServeOptions: Equatable, Sendable {
  /// Nil means the embedded default, a demo origin behind the gateway.
  package var configFile: String?
  /// The time between two looks at the files of the configuration. Nil means that only signals and requests reload
  /// them.
  package var watchInterval: Duration?
  /// Nil means ``standardGatewayAddress``, or the listeners of the configuration.
  package var gatewayAddress: SocketAddress?
  package var webAddress = standardWebAddress
  /// Restricts access to the metrics address. Nil lets everybody in.
  package var webConfigFile: String?
  /// The modules and targets of `/probe`. Without it there is no such page.
  package var probeConfigFile: String?
  /// Whether `/-/reload` and `/-/quit` of the metrics address do anything.
  package var enablesLifecycle = false
  /// The number of upstreams that have series of their own.
  package var destinationLimit = 200
  /// The number of each upstream's operations with series of their own.
  package var operationLimit = 20
  package var endpointLimit = 500
  /// The buckets of histograms, by name, in place of their default ones.
  package var buckets: [String: Buckets] = [:]
  /// The histograms that are native ones beside their classic buckets.
  package var nativeHistograms = NativeHistograms.none
  /// Nil means one for each of ``UsableCores``.
  package var workers: Int?
  /// The time for which requests are still accepted after the program was told to end, while `/-/ready` answers 503.
  package var shutdownDelay: Duration = .zero
  /// The time that requests under way may take after that.
  package var drainTimeout: Duration = .seconds(30)
  package var logLevel = LogLevel.info
  package var logFormat = LogFormat.logfmt

  package static let standardGatewayAddress = SocketAddress.loopback(port: 8080)
  package static let standardWebAddress = SocketAddress.loopback(port: 9464)
  package static let workers = 1...256
}

package struct CheckOptions: Equatable, Sendable {
  /// The configuration file with routes.
  package var file: String?
  package var webConfigFile: String?
  package var probeConfigFile: String?
  /// Whether each credential of the file is fetched once.
  package var fetchesCredentials = false
}

package struct ProbeOptions: Equatable, Sendable {
  package var url: String
  package var method = "GET"
  package var headers: [HeaderRule] = []
  package var timeout: Duration = .seconds(30)
  /// Whether the exit status is 1 also for a response whose status is 400 or more.
  package var failsByStatus = false
  /// The addresses that may be connected to, redirects included.
  package var destinationPolicy = DestinationPolicy.any
  /// The file with the certificates of the authorities that are trusted, in place of the system's.
  package var authorities: String?
  /// The module of the probe page to ask by; nil for one request with the options above.
  package var module: String?
  /// The file with the module.
  package var configFile: String?
}

extension ProbeOptions {
  /// What is wrong with the options together; nil if they fit.
  var problemOfModule: String? {
    if module == nil { return configFile == nil ? nil : "--probe.config.file needs --module=NAME, one of its modules" }
    let own: [(flag: String, isGiven: Bool)] = [
      ("--method", method != "GET"), ("--header", !headers.isEmpty), ("--fail", failsByStatus),
      ("--tls.ca", authorities != nil),
      ("--destination-policy", destinationPolicy != .any && configFile != nil),
    ]
    return own.first(where: \.isGiven).map { "\($0.flag) is not for --module; the probe file says it" }
  }
}

/// An invalid command line. The text says what to change.
package struct CommandLineError: Error, Equatable, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
