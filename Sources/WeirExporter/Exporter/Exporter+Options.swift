package import WeirServer

extension Exporter {
  /// The options of an ``Exporter``. The defaults suit a service.
  public struct Options: Sendable {
    /// The actions that may be performed on the program, by path.
    package var actions: [String: AdminAction] = [:]
    /// The pages of the program besides the exporter's own, by path. They are read by GET and HEAD.
    package var pages: [String: ExporterPage] = [:]
    /// The name at the top of the pages for people.
    public var title = "weir"
    /// Whether there is a page at `/status`, and the same as JSON at `/status.json`: what the requests to each
    /// destination came to in the last ten seconds and five minutes, the latest failures, the slowest requests, and
    /// what is wrong, in words. It reads the metrics of ``MetricsMonitor`` every five seconds.
    public var statusPage = false
    /// What a program adds to the status page.
    package var statusSource: (any StatusSource)?
    /// Whether `/-/ready` answers 200; otherwise it answers 503. Called on the exporter's thread; must not block.
    public var isReady: @Sendable () -> Bool = { true }
    /// Whether the page shows the process (``ProcessCollector``) and `weir_build_info` (``BuildInfo``), unless the
    /// registry has metrics of these names already.
    public var registersProcessMetrics = true
    /// The users and tokens with access to the pages; nil lets everybody in. See ``AccessControl``.
    public var access: AccessControl?
    /// Header fields that every response has besides the exporter's own, for example `Strict-Transport-Security`.
    public var headers: [String: String] = [:]
    /// Whether OpenMetrics pages show when each counter and histogram began (`_created`). Pages in protobuf always do.
    public var showsCreated = false
    /// The limits for clients. The defaults are small enough that no scraper starves the service.
    public var limits = Limits()
    /// Makes the channel of a new connection; nil for plain HTTP. See ``Server``.
    package var secure: (@Sendable () -> (any SecureChannel)?)?
    /// Seconds for which idle connections stay readable while the exporter stops, for requests on their way.
    package var stopLinger = 0.0
    /// Called for server events that no page shows, on the exporter's thread; must not block.
    package var onServerEvent: (@Sendable (ServerEvent) -> Void)?

    /// Makes options with their defaults.
    public init() {}
  }

  /// The limits of an ``Exporter`` for its clients.
  public struct Limits: Sendable {
    /// The number of scrapes that may wait for a page at once, but no more than three quarters of ``connections``. A
    /// further one is answered 503 with Retry-After.
    ///
    /// It is also the number of large pages that may be on their way at once. For a further one, a client that has read
    /// nothing for two seconds is cut off.
    public var concurrentScrapes = 40
    /// Seconds until a scrape is answered 503. If a scraper announces a shorter time
    /// (`X-Prometheus-Scrape-Timeout-Seconds`), it is answered within that.
    public var scrapeTimeout = 10.0
    /// The number of open connections, but no more than an eighth of the descriptors that the process may have when the
    /// exporter starts. At the limit, the connection that has waited longest for a request is closed for a new one.
    public var connections = 512

    /// Makes limits with their defaults.
    public init() {}
  }
}

extension Exporter.Limits {
  /// These limits with invalid numbers brought into range, and with no more connections than the process has
  /// descriptors for.
  ///
  /// Each scrape that waits holds a connection that can't be closed for another. A client that is answered 503 because
  /// there are too many scrapes needs a connection too.
  package func within(descriptors: Int) -> Exporter.Limits {
    var limits = self
    limits.connections = max(1, min(connections, max(8, descriptors / 8)))
    limits.concurrentScrapes = max(1, min(concurrentScrapes, limits.connections * 3 / 4))
    if !(scrapeTimeout > 0) { limits.scrapeTimeout = Exporter.Limits().scrapeTimeout }
    return limits
  }
}

/// Something that a POST or PUT at a path of the exporter's address does to the program, such as a reload.
package struct AdminAction: Sendable {
  package typealias Result = ExporterPage.Response
  /// Does it, and calls `done` once with the result, on any thread. Called on the exporter's thread; must not block.
  package typealias Act = @Sendable (_ done: @escaping @Sendable (Result) -> Void) -> Void

  let act: Act?
  let refusal: String

  /// - Parameters:
  ///   - act: Nil if it is turned off: then it is answered 403.
  ///   - refusal: How to turn it on, plain text with its final line feed.
  package init(_ act: Act?, refusal: String) {
    self.act = act
    self.refusal = refusal
  }
}

/// A page of the program at a path of the exporter's address. Its content is the program's own.
package struct ExporterPage: Sendable {
  package struct Response: Sendable {
    package var status: Int
    /// Header fields besides those of every response.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
      self.status = status
      self.fields = fields
      self.body = body
    }

    /// - Parameter text: Plain text, with its final line feed.
    package init(status: Int, fields: [(name: String, value: String)] = [], text: String) {
      let type = (name: "Content-Type", value: "text/plain; charset=utf-8")
      self.init(status: status, fields: fields + [type], body: Array(text.utf8))
    }
  }

  /// Makes the page, and calls `done` once with it, on any thread. Called on the exporter's thread; must not block.
  package typealias Answer =
    @Sendable (_ request: RequestHead, _ done: @escaping @Sendable (Response) -> Void) -> Void

  let answer: Answer

  package init(_ answer: @escaping Answer) {
    self.answer = answer
  }
}
