import WeirCurl

extension TransportOptions {
  /// The transport's options, from a session's configuration.
  init(_ configuration: SessionConfiguration) {
    self.init()
    connectTimeout = configuration.connectTimeout
    idleConnectionLifetime = configuration.idleConnectionLifetime
    maximumHeaderSize = configuration.maximumHeaderSize
    unixSocketPath = configuration.unixSocketPath
    resolveOverrides = configuration.resolveOverrides.map {
      ResolveOverrideOptions(host: $0.host, port: $0.port, addresses: $0.addresses)
    }
    proxy = configuration.proxyOptions ?? ProxyOptions(configuration.proxy)
    tls = TLSOptions(configuration.tls)
    http1Engine = configuration.http1Engine
    httpVersion =
      switch configuration.httpVersion {
      case .automatic: .automatic
      case .http1_1: .http1_1
      case .http2: .http2
      case .http2PriorKnowledge: .http2PriorKnowledge
      }
  }
}

extension ProxyOptions {
  fileprivate init(_ proxy: ProxyConfiguration) {
    let credential = proxy.credential.flatMap(TransferCredential.init)
    self =
      switch proxy {
      case .none: .none
      case .environment: .environment
      case .http(let host, let port, _): .http(host: host, port: port, credential: credential)
      case .https(let host, let port, _, let tls):
        .proxy(
          TransferProxy(.https, host: host, port: port, trust: TransferTrust(TLSOptions(tls)), answer: credential))
      case .socks5(let host, let port, _): .socks5(host: host, port: port, credential: credential)
      case .socks5WithLocalLookup(let host, let port, _):
        .proxy(TransferProxy(.socks5, host: host, port: port, answer: credential))
      }
  }
}

extension TLSOptions {
  init(_ configuration: TLSConfiguration) {
    self.init()
    roots =
      switch configuration.trustRoots {
      case .system: .system
      case .file(let path): .file(path)
      case .pem(let data): .pem([UInt8](data))
      }
    clientCertificate = configuration.clientCertificate.map(ClientCertificateOptions.init)
    pinnedPublicKeys = configuration.pinnedPublicKeys.map(\.sha256)
    minimumVersion = configuration.minimumVersion == .tls13 ? .tls13 : .tls12
    allowsInsecureServers = configuration.allowsInsecureServers
  }
}

extension ClientCertificateOptions {
  fileprivate init(_ certificate: TLSConfiguration.ClientCertificate) {
    self.init(
      format: certificate.format == .pem ? .pem : .pkcs12, certificate: Source(certificate.certificate),
      key: certificate.privateKey.map(Source.init), passphrase: certificate.passphrase)
  }
}

extension ClientCertificateOptions.Source {
  fileprivate init(_ source: TLSConfiguration.ClientCertificate.Source) {
    self =
      switch source {
      case .file(let path): .file(path)
      case .data(let data): .blob([UInt8](data))
      }
  }
}

extension DestinationControls {
  convenience init(_ configuration: SessionConfiguration) {
    self.init(
      retryBudget: configuration.retryBudget, circuitBreaker: configuration.circuitBreaker,
      overload: configuration.overload, pace: configuration.pace)
  }
}
