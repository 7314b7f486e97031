package import WeirServer

extension Exporter {
  /// How an ``Exporter`` behaves. The defaults suit a service.
  public struct Options: Sendable {
    /// The name at the top of the landing page.
    public var title = "weir"
    /// Whether `/-/ready` says so (200, else 503). Called on the exporter's thread; must not block.
    public var isReady: @Sendable () -> Bool = { true }
    /// Whether the page shows the process (``ProcessCollector``) and `weir_build_info` (``BuildInfo``), unless the registry
    /// has metrics of these names already.
    public var registersProcessMetrics = true
    /// Who may see the pages; nil lets everybody in. See ``AccessControl``.
    public var access: AccessControl?
    /// Header fields that every response has besides the exporter's own, for example `Strict-Transport-Security`.
    public var headers: [String: String] = [:]
    /// Whether OpenMetrics pages tell when each counter and histogram began (`_created`).
    public var showsCreated = false
    /// What clients are granted; small enough by default that no scraper starves the service.
    public var limits = Limits()
    /// Told of what no page shows, on the exporter's thread; must not block.
    package var onServerEvent: (@Sendable (ServerEvent) -> Void)?

    /// All at their defaults.
    public init() {}
  }

  /// What an ``Exporter`` grants its clients.
  public struct Limits: Sendable {
    /// Scrapes that wait for a page at once, but no more than three quarters of ``connections``; a further one is
    /// answered 503 with Retry-After. Also, how many large pages may be on their way at once; for a further one, a client
    /// that has read nothing for two seconds is cut off.
    public var concurrentScrapes = 40
    /// Seconds until a scrape is answered 503. A scraper that announces a shorter time
    /// (`X-Prometheus-Scrape-Timeout-Seconds`) is answered within that.
    public var scrapeTimeout = 10.0
    /// Open connections, but no more than an eighth of the descriptors that the process may have when the exporter
    /// starts. At the limit, the one that has waited longest for a request makes place for a new one.
    public var connections = 512

    /// All at their defaults.
    public init() {}
  }
}

extension Exporter.Options {
  /// Why ``headers`` must not hold this field; nil if it may.
  package static func problem(header name: String, value: String) -> String? {
    FixedFields.problem(name, value)
  }
}

extension Exporter.Limits {
  /// With numbers that mean nothing brought into range, and no more connections than the process has descriptors for.
  ///
  /// Each scrape that waits holds a connection that can't be spared; who is to be told that there are too many needs one.
  package func within(descriptors: Int) -> Exporter.Limits {
    var limits = self
    limits.connections = max(1, min(connections, max(8, descriptors / 8)))
    limits.concurrentScrapes = max(1, min(concurrentScrapes, limits.connections * 3 / 4))
    if !(scrapeTimeout > 0) { limits.scrapeTimeout = Exporter.Limits().scrapeTimeout }
    return limits
  }
}
