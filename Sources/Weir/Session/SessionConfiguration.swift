public import Dispatch

/// The settings of a session; copied when the session is made, so later edits change nothing.
///
/// Limits are on by default. Times are in seconds, sizes in bytes. A server should lower ``timeoutIntervalForResource``.
public struct SessionConfiguration: Sendable {
  /// The defaults.
  public static var `default`: SessionConfiguration { SessionConfiguration() }
  /// The same as ``default``: nothing is kept on disk either way.
  public static var ephemeral: SessionConfiguration { SessionConfiguration() }

  /// Where handlers without a queue argument run.
  public enum HandlerExecution: Sendable {
    /// On the session's completion queue, the handlers of one request one after another.
    case completionQueue
    /// On the event loop, at once: fastest. They must not block.
    case eventLoop
  }

  /// Which HTTP versions are spoken.
  public enum HTTPVersion: Sendable {
    /// HTTP/1.1 with libcurl below 8.1; from there on HTTP/2 by ALPN on https, else 1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1_1
    /// HTTP/2 by ALPN or upgrade.
    case http2
    /// HTTP/2 without negotiation (RFC 9113 section 3.3).
    case http2PriorKnowledge
  }

  /// An address used instead of a name lookup.
  public struct ResolveOverride: Sendable, Hashable {
    /// The name as URLs spell it.
    public var host: String
    /// Only for this port; an `https` URL without one has 443.
    public var port: Int
    /// IPv4 or IPv6 addresses, tried in order.
    public var addresses: [String]

    /// Takes the name, the port and what to connect to instead.
    public init(host: String, port: Int, addresses: [String]) {
      self.host = host
      self.port = port
      self.addresses = addresses
    }
  }

  /// Sent with every request; a request's own field of the same name wins.
  public var headers: HTTPHeaders = .default
  /// The longest silence in either direction. A `URLRequest.timeoutInterval` other than 60 overrides it.
  public var timeoutIntervalForRequest: TimeInterval = 60
  /// The deadline of a whole request from `resume()`: attempts, redirects, retry delays, adapters and refreshes.
  public var timeoutIntervalForResource: TimeInterval = 604_800
  /// Name lookup, TCP and TLS together.
  public var connectTimeout: TimeInterval = 30
  /// Attempts on the wire per destination; further ones wait in order.
  public var httpMaximumConnectionsPerHost = 64
  /// Requests that may wait for a slot of one destination; one more is rejected with `.queueFull`.
  public var maximumPendingRequestsPerHost = 10_000
  /// The longest wait for a slot; then the request is rejected with `.admissionTimeout`.
  public var admissionTimeout: TimeInterval = 30
  /// How many retries a destination is to bear, of all requests together; nil: as many as retriers ask for.
  public var retryBudget: RetryBudget? = RetryBudget()
  /// When a destination that fails is left alone for a while; nil: never.
  public var circuitBreaker: CircuitBreaker?
  /// How the number of attempts at once follows a destination's speed, within ``httpMaximumConnectionsPerHost``; nil: it is
  /// that.
  public var adaptiveConcurrency: AdaptiveConcurrency?
  /// Where handlers without a queue argument run; default: on the completion queue.
  public var handlerExecution = HandlerExecution.completionQueue
  /// Idle pooled connections are closed after this.
  public var idleConnectionLifetime: TimeInterval = 60
  /// Nor are there more connections than this, unless all are in use.
  package var maximumPooledConnections = 100_000
  /// Where downloads are written until they are complete; nil: in the system's temporary directory.
  package var downloadDirectory: String?
  /// Which addresses are connected to; set ``DestinationPolicy/publicOnly`` where others choose the URLs.
  public var destinationPolicy = DestinationPolicy.any
  /// Where cookies are kept and taken from; nil: none is kept or sent. Foundation's shared storage would be shared with
  /// everybody in the process.
  public var httpCookieStorage: CookieStorage?
  /// Whether requests have the cookies of ``httpCookieStorage``. Those that responses set are kept all the same.
  public var httpShouldSetCookies = true
  /// Whose cookies are kept in ``httpCookieStorage``. Without a `mainDocumentURL` of the URL request all hosts are the main
  /// document's; with one, its host and those within.
  public var httpCookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
  /// Where responses are kept and taken from; nil: nothing is. Everybody who uses the session gets what is kept. Foundation's
  /// cache reads and writes its files in the calls, for which weir has workers.
  public var urlCache: URLCache?
  /// How ``urlCache`` is used by requests whose own `cachePolicy` is `.useProtocolCachePolicy`.
  public var requestCachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy
  /// Where credentials are looked up for requests that have none of their own; nil: nowhere. Foundation's shared storage
  /// would be shared with everybody in the process.
  public var urlCredentialStorage: URLCredentialStorage?
  /// The way out of the network; default: directly, whatever the environment says.
  public var proxy = ProxyConfiguration.none
  /// Connect to this socket; the URL still gives Host and the TLS name.
  public var unixSocketPath: String?
  /// Addresses used instead of name lookups; default: none.
  public var resolveOverrides: [ResolveOverride] = []
  /// How servers are trusted and the client identifies itself.
  public var tls = TLSConfiguration()
  /// Which HTTP versions are spoken.
  public var httpVersion = HTTPVersion.automatic
  /// One response body kept in memory, on the wire or decoded; nil: unlimited.
  public var maximumResponseSize: Int64? = 268_435_456
  /// One response head.
  public var maximumHeaderSize = 262_144
  /// One decoded response body; nil: unlimited.
  public var maximumDecompressedSize: Int64? = 536_870_912
  /// Decoded ÷ received bytes, applied above 10 MiB decoded; nil: unlimited.
  public var maximumDecompressionRatio: Double? = 200
  /// Whether gzip and deflate response bodies are decoded.
  public var automaticallyDecompresses = true
  /// The field by which retries say which one they are, in addition to what the request says already: one that came with
  /// `X-Retry-Attempt: 2` and is retried once sends 3. Nil: none.
  public var announcesAttempts: AttemptHeader?
  /// Redirects followed within one attempt; one more fails it with `URLError(.httpTooManyRedirects)`.
  public var maximumRedirects = 20
  /// Whether a redirect may lead from https to http.
  public var allowsInsecureRedirects = false
  /// Where handlers without a queue argument run; nil: a private concurrent queue.
  public var completionQueue: DispatchQueue?

  /// The defaults, the same as ``default``.
  public init() {}

  /// ``headers`` as a dictionary; the same storage.
  public var httpAdditionalHeaders: [String: String]? {
    get { headers.dictionary }
    set { headers = HTTPHeaders(newValue ?? [:]) }
  }
}
