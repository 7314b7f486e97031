package import WeirCurl

/// The settings of a session; copied when the session is made, so later edits change nothing.
///
/// Limits are on by default. Times are in seconds, sizes in bytes; ``timeouts`` has the limits of times as durations. A
/// server begins with ``server``, whose limits of times are those of a service that answers callers of its own.
public struct SessionConfiguration: Sendable {
  /// The defaults.
  public static var `default`: SessionConfiguration { SessionConfiguration() }
  /// The same as ``default``, which keeps nothing on disk either.
  public static var ephemeral: SessionConfiguration { SessionConfiguration() }
  /// The defaults for a service that answers callers of its own: a request may take 30 s in all, 10 s of silence and 5 s
  /// to connect, and load control (``overload``) is on.
  public static var server: SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.timeouts = Timeouts(total: .seconds(30), connect: .seconds(5), silence: .seconds(10))
    configuration.overload = .default
    return configuration
  }

  /// The endpoints that stand for origins, by which requests are balanced; default: each request goes to its URL's host.
  /// The last of several groups for one origin counts.
  public var endpoints: [EndpointGroup] = []
  /// The place where handlers without a queue argument run.
  public enum HandlerExecution: Sendable {
    /// On the session's completion queue, the handlers of one request one after another.
    case completionQueue
    /// On the event loop, at once. This is fastest; the handlers must not block.
    case eventLoop
  }

  /// The HTTP versions that a session uses.
  public enum HTTPVersion: Sendable {
    /// HTTP/1.1 with libcurl before 8.1. With later versions HTTP/2 by ALPN on https, else HTTP/1.1.
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
    /// The host name, spelled as in URLs.
    public var host: String
    /// The only port to which the override applies; an `https` URL without a port has 443.
    public var port: Int
    /// IPv4 or IPv6 addresses, tried in order.
    public var addresses: [String]

    /// Makes an override of the host name and port by the addresses to connect to.
    public init(host: String, port: Int, addresses: [String]) {
      self.host = host
      self.port = port
      self.addresses = addresses
    }
  }

  /// Header fields sent with every request; a request's own field of the same name takes precedence.
  public var headers: HTTPHeaders = .default
  /// The longest silence in either direction, in seconds. A `URLRequest.timeoutInterval` other than 60 overrides it.
  public var timeoutIntervalForRequest: TimeInterval = 60
  /// The deadline of a whole request from `resume()`: attempts, redirects, retry delays, adapters and refreshes.
  public var timeoutIntervalForResource: TimeInterval = 604_800
  /// The limit in seconds of one attempt, from when it goes on the wire until the final head of its response is there; nil:
  /// none, as is one that is not more than 0. ``Request/attemptTimeout(_:)-(TimeInterval)`` sets it for one request, and
  /// says which times do not count. Default: nil.
  public var attemptTimeout: TimeInterval?
  /// The limit in seconds of name lookup, TCP and TLS together.
  public var connectTimeout: TimeInterval = 30
  /// The limit of attempts on the wire per destination; further attempts wait in order.
  public var httpMaximumConnectionsPerHost = 64
  /// The limit of requests that wait for a slot of one destination; one more is rejected with `.queueFull`.
  public var maximumPendingRequestsPerHost = 10_000
  /// The longest wait for a slot in seconds, after which the request is rejected with `.admissionTimeout`.
  public var admissionTimeout: TimeInterval = 30
  /// The limit of retries to a destination, of all requests together; nil: as many as retriers ask for.
  public var retryBudget: RetryBudget? = RetryBudget()
  /// The rule by which requests to a failing destination are rejected; nil: no request is.
  public var circuitBreaker: CircuitBreaker?
  /// Load control: how the load on a destination is limited once it answers more slowly than callers wait. Nil:
  /// ``httpMaximumConnectionsPerHost`` is the only limit. For services that answer callers of their own, and cancel
  /// requests whose caller has left, use `.default`. A batch of requests has no callers that give up, and no use for it.
  public var overload: OverloadSettings?
  /// The pace of the attempts at each destination: a rate, and the pauses that it asks for. Default: nil, so that attempts
  /// begin as soon as they may.
  ///
  /// No attempt begins before its turn, retries and second attempts included. A request that would wait for its turn longer
  /// than ``PaceSettings/wait``, or beyond its deadline, is rejected at once
  /// (``WeirError/RequestRejectionReason/overloaded(reason:retryAfter:)``); no retrier is asked about it. Where
  /// ``OverloadSettings/priority`` of ``overload`` is on, urgent requests get their turns first.
  public var pace: PaceSettings?
  /// The place where handlers without a queue argument run; default: the completion queue.
  public var handlerExecution = HandlerExecution.completionQueue
  /// The seconds after which idle pooled connections are closed.
  public var idleConnectionLifetime: TimeInterval = 60
  /// The directory in which downloads are written until they are complete; nil: the system's temporary directory.
  package var downloadDirectory: String?
  /// The addresses that may be connected to; set ``DestinationPolicy/publicOnly`` if others choose the URLs.
  public var destinationPolicy = DestinationPolicy.any
  /// The storage of cookies; nil: no cookie is kept or sent. Foundation's shared storage is shared with the whole
  /// process.
  public var httpCookieStorage: CookieStorage?
  /// Whether requests send the cookies of ``httpCookieStorage``. Cookies that responses set are kept in either case.
  public var httpShouldSetCookies = true
  /// The policy by which cookies are kept in ``httpCookieStorage``. If the URL request has no `mainDocumentURL`, every
  /// host counts as the main document's; otherwise the host of that URL and its subdomains do.
  public var httpCookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
  /// The cache of responses; nil: no response is stored or looked up. All users of the session share the cache. Weir
  /// calls it on workers, as Foundation's cache reads and writes its files in the calls.
  public var urlCache: URLCache?
  /// The use of ``urlCache`` by requests whose own `cachePolicy` is `.useProtocolCachePolicy`.
  public var requestCachePolicy = URLRequest.CachePolicy.useProtocolCachePolicy
  /// The storage in which credentials are looked up for requests that have none of their own; nil: none is looked up.
  /// Foundation's shared storage would be shared with all other code in the process.
  public var urlCredentialStorage: URLCredentialStorage?
  /// The proxy; default: a direct connection, whatever the environment says.
  public var proxy = ProxyConfiguration.none
  /// The proxies in place of ``proxy``; nil for that.
  package var proxyOptions: ProxyOptions?
  /// The path of a Unix socket to connect to; the URL still gives Host and the TLS name.
  public var unixSocketPath: String?
  /// Addresses used instead of name lookups; default: none.
  public var resolveOverrides: [ResolveOverride] = []
  /// The trust in servers, and the client's own certificate.
  public var tls = TLSConfiguration()
  /// The HTTP versions that the session uses.
  public var httpVersion = HTTPVersion.automatic
  /// The engine for the requests that either engine could run.
  package var http1Engine = HTTP1EngineChoice.standard
  /// Whose settings the texts of failed transfers name.
  package var adviceNames = TransferAdvice.Settings.session
  /// The limit in bytes of one response body kept in memory, both on the wire and decoded; nil: unlimited.
  public var maximumResponseSize: Int64? = 268_435_456
  /// The limit in bytes of one response head.
  public var maximumHeaderSize = 262_144
  /// The limit in bytes of one decoded response body; nil: unlimited.
  public var maximumDecompressedSize: Int64? = 536_870_912
  /// The limit of decoded bytes per received byte, applied above 10 MiB decoded; nil: unlimited.
  public var maximumDecompressionRatio: Double? = 200
  /// Whether gzip and deflate response bodies are decoded.
  public var automaticallyDecompresses = true
  /// The header field in which a retry says which retry it is. It adds to the number that the request has already: if a
  /// request with `X-Retry-Attempt: 2` is retried once, the retry sends 3. Nil: no field.
  public var announcesAttempts: AttemptHeader?
  /// Gives the place of new requests in a distributed trace (W3C Trace Context); default: nil, requests have none.
  ///
  /// It is called once for each request, where the request is made: on the thread, and in the task, that calls
  /// ``Session``. So it can read the caller's task-local values, which is how tracing libraries keep their context. If it
  /// returns a context, each attempt of the request carries it as `traceparent`, and `tracestate` if there is one: as it is,
  /// or with the identifier of a span of its own, where a monitor exports that (``EventMonitor/traceSampler``). A request
  /// that has a `traceparent` of its own is left as it is. The trace's identifier, if it is sampled, becomes an exemplar of
  /// `weir_request_duration_seconds`.
  public var traceContext: (@Sendable () -> TraceContext?)?
  /// The limit of redirects followed within one attempt; one more fails it with `URLError(.httpTooManyRedirects)`.
  public var maximumRedirects = 20
  /// Whether a redirect may lead from https to http.
  public var allowsInsecureRedirects = false
  /// The queue of handlers without a queue argument; nil: a private concurrent queue.
  public var completionQueue: DispatchQueue?

  /// The defaults, the same as ``default``.
  public init() {}

  /// ``headers`` as a dictionary; the same storage.
  public var httpAdditionalHeaders: [String: String]? {
    get { headers.dictionary }
    set { headers = HTTPHeaders(newValue ?? [:]) }
  }
}
