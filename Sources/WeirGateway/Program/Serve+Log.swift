import WeirExporter
import WeirIO
import WeirMetrics
import WeirServer

/// The log lines of the start.
extension Serve {
  /// The line that the service manager shows.
  static func status(_ servers: Servers, isRefused: Bool = false) -> String {
    let places = servers.gateway.addresses.map { "\($0.address)" }.joined(separator: ", ")
    return "forwarding at \(places)" + (isRefused ? "; the last reload was refused, see the log" : "")
  }

  func warn(of configuration: Configuration) {
    for warning in configuration.warnings {
      log.warn("configuration", ["problem": .string(warning.description(file: options.configFile ?? ""))])
    }
  }

  func announce(_ configuration: Configuration, _ servers: Servers, isDemo: Bool) {
    let metrics = Self.url(servers.exporterAddress, isSecure: servers.webTLS != nil) + "/metrics"
    let routes = LogValue.integer(configuration.routes.count), workers = LogValue.integer(servers.gateway.workerCount)
    for (name, address, isSecure) in servers.gateway.addresses {
      let place = Self.place(address, url: Self.url(address, isSecure: isSecure))
      let listener = configuration.listeners.isEmpty ? "" : name
      log.info(
        "forwarding",
        [place.key: place.value, "routes": routes, "workers": workers, "listener": .string(listener)])
      let given = configuration.listeners.first { $0.name == name }?.address ?? options.gatewayAddress
      warn(ofSocketNamed: name, at: address, inPlaceOf: given)
    }
    let serving = Self.place(servers.exporterAddress, url: metrics)
    log.info("serving metrics", [serving.key: serving.value])
    warn(
      ofSocketNamed: InheritedSockets.metricsName, at: servers.exporterAddress,
      inPlaceOf: options.webAddress == ServeOptions.standardWebAddress ? nil : options.webAddress)
    if Self.isReachableFromElsewhere(servers.exporterAddress), options.webConfigFile == nil {
      log.warn(
        "everybody who reaches the metrics address may read it; see --web.config.file",
        ["address": .string("\(servers.exporterAddress)")])
    }
    for (histogram, rules) in ClassicRules.reading(options.nativeHistograms) {
      log.info(
        "rules read the classic buckets of a native histogram; for a Prometheus that keeps none, load native.yml too",
        ["histogram": .string(histogram), "rules": .string(rules.joined(separator: ", "))])
    }
    guard isDemo else { return }
    let gateway = Self.url(servers.gateway.address)
    log.info("without --config.file, a demo origin stands behind the gateway", ["try": "curl \(gateway)/echo"])
    log.info(
      "a path that fails two times of three: retries hide it until their budget is used up",
      ["try": "curl \(gateway)/flaky"])
    log.info(
      "a page that wants a token of 20 s: the gateway fetches and renews it", ["try": "curl \(gateway)/account"])
    log.info("what was measured of all", ["try": "curl \(metrics)"])
  }

  /// Warns of an address that was given, and that a socket of the service manager replaces.
  private func warn(ofSocketNamed name: String, at address: SocketAddress, inPlaceOf given: SocketAddress?) {
    guard let given, given != address, environment.sockets.contains(where: { $0.name == name }) else { return }
    log.warn(
      "a socket of the service manager takes the place of the address that was given",
      ["listener": .string(name), "address": .string("\(address)"), "given": .string("\(given)")])
  }

  /// The field that tells where a listener is: its URL, or only its address if that stands for several addresses.
  private static func place(_ address: SocketAddress, url: String) -> (key: String, value: LogValue) {
    isOneAddress(address) ? ("url", .string(url)) : ("address", .string("\(address)"))
  }

  /// The reason why the program can't start, with the program's flags in place of the library's options.
  static func startText(_ error: any Error) -> String {
    switch error {
    case let error as ListenError where error.error == .addressInUse:
      "\(error); stop it, or give another address, by --gateway.listen-address or in listeners (port 0 lets the "
        + "system choose)"
    case let error as ExporterError: error.description.replacing("listenAddress", with: "--web.listen-address")
    default: "\(error)"
    }
  }

  /// The reason why a configuration can't be followed.
  ///
  /// - Parameter own: The addresses at which the program listens.
  static func reloadText(_ error: any Error, own: [SocketAddress]) -> String {
    guard let error = error as? ListenError, error.error == .addressInUse,
      let own = own.first(where: { $0.overlaps(error.address) })
    else { return startText(error) }
    return "\(error.address) is in use: weir itself listens at \(own); give another port, free that address by a "
      + "reload before this one, or restart weir"
  }

  /// Whether the address is a single one, which a URL can name.
  static func isOneAddress(_ address: SocketAddress) -> Bool {
    switch address {
    case .v4(0, _), .v6(0, 0, _, _), .unix, .unnamed: false
    case .v4, .v6: true
    }
  }

  /// Whether other machines may reach the address: it is neither a loopback address (127.0.0.0/8, ::1) nor a socket
  /// file.
  static func isReachableFromElsewhere(_ address: SocketAddress) -> Bool {
    switch address {
    case .v4(let number, _): number >> 24 != 127
    case .v6(let high, let low, _, _): !(high == 0 && low == 1)
    case .unix, .unnamed: false
    }
  }

  /// A URL that curl accepts. A server that listens on all addresses is reached by loopback.
  static func url(_ address: SocketAddress, isSecure: Bool = false) -> String {
    let scheme = isSecure ? "https" : "http"
    return switch address {
    case .v4(0, let port), .v6(0, 0, _, let port): "\(scheme)://\(SocketAddress.loopback(port: port))"
    default: "\(scheme)://\(address)"
    }
  }
}
