extension Destination {
  /// The destination of a URL; nil if it has no host.
  public init?(url: URL) {
    guard let host = url.host(percentEncoded: false), !host.isEmpty, let scheme = url.scheme else { return nil }
    self.init(scheme: scheme, host: host, port: url.port ?? Self.defaultPort(of: scheme.lowercased()))
  }
}
