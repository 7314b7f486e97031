import WeirCurl
import WeirTransport

/// The gateway's own answer if there is no upstream's response to pass on. Where the
/// client itself has named the upstream it says why that can't be reached, and else it names no host and no address.
struct GatewayAnswer: Equatable, Sendable {
  let status: Int
  /// The text without its line end.
  let line: String
  /// Seconds after which the client may retry; nil if unknown.
  var retryAfter: Int?
  /// Why the request was not sent; nil unless no gateway on the way should retry it.
  var refusal: Refusal?
  /// The codings that a request's body may have; nil unless that is the reason.
  let acceptedCodings: String?
  /// The challenges to give credentials; empty for other answers.
  let challenges: [String]

  /// Why a request was not sent.
  enum Refusal: Equatable {
    /// Load control refused it.
    case load(ShedReason)
    /// It has no credential.
    case credential

    /// The value of X-Weir-Refused.
    var reason: String {
      switch self {
      case .load(let reason): reason.rawValue
      case .credential: kind
      }
    }

    /// The value of X-No-Retry.
    var kind: String {
      switch self {
      case .load(.paused), .load(.pace): ShedReason.pace.rawValue
      case .load: ShedReason.overload.rawValue
      case .credential: "credential"
      }
    }
  }

  static let noRoute = GatewayAnswer(404, "no route matches this request")
  static let loop = GatewayAnswer(508, "this request has already passed this gateway")
  static let slowBody = GatewayAnswer(408, "the request's body did not arrive in time")
  static let tooManyUploads = GatewayAnswer(503, "too many large requests are arriving for the upstream")
  static let tooManyTunnels = GatewayAnswer(503, "too many connections of this kind are open", retryAfter: 1)
  static let misdirected = GatewayAnswer(421, "the certificate of this connection is not for this host")
  static let brokenBody = GatewayAnswer(400, "the body is not valid in its content coding")
  static let bodyTooLarge = GatewayAnswer(413, "the body is too large once it is decoded")
  static let bodyOverLimit = GatewayAnswer(413, "the body is larger than this route takes")
  static let routeIsBusy = GatewayAnswer(503, "too many requests are under way here", retryAfter: 1)
  static let clientIsBusy = GatewayAnswer(429, "too many of your requests are under way", retryAfter: 1)

  /// - Parameter seconds: After which there is room again.
  static func rateLimited(retryAfter seconds: Int) -> GatewayAnswer {
    GatewayAnswer(429, "too many requests have come", retryAfter: seconds)
  }

  static let tooManyCodedBodies = GatewayAnswer(503, "too many coded bodies are being decoded", retryAfter: 1)
  static let unknownCoding = GatewayAnswer(
    415, "only the content codings gzip and deflate are known", acceptedCodings: "gzip, deflate")
  static let forbidden = GatewayAnswer(403, "this client is not allowed here")
  static let tooManyChecks = GatewayAnswer(503, "too many passwords wait to be checked", retryAfter: 1)

  /// The answer to a request for a host and port to which it may not go.
  static func forbidden(_ upstream: Upstream, _ reason: String) -> GatewayAnswer {
    GatewayAnswer(403, "\(upstream.host):\(upstream.port) can't be reached through this gateway: \(reason)")
  }

  static func noTunnel(to upstream: Upstream, _ cause: String) -> GatewayAnswer {
    GatewayAnswer(502, "no tunnel to \(upstream.host):\(upstream.port): \(cause)")
  }

  static func lateTunnel(to upstream: Upstream) -> GatewayAnswer {
    GatewayAnswer(504, "no tunnel to \(upstream.host):\(upstream.port) in time")
  }

  static let connectRefused = GatewayAnswer(501, "this gateway makes no tunnels")

  /// The upstream's response has contradictory framing, or a status below 200.
  static let badResponse = GatewayAnswer(502, "the upstream's response is malformed")

  /// The answer to a request whose Max-Forwards is used up. TRACE would show the client fields that other hops have
  /// added.
  static func finalRecipient(isTrace: Bool) -> GatewayAnswer {
    isTrace ? GatewayAnswer(501, "this gateway does not answer TRACE") : GatewayAnswer(200, "this is the gateway")
  }

  /// - Parameter isForProxy: Whether the credentials are those of a forward proxy's client.
  static func unauthorized(_ challenges: [String], isForProxy: Bool = false) -> GatewayAnswer {
    GatewayAnswer(isForProxy ? 407 : 401, "valid credentials are needed", challenges: challenges)
  }

  /// The answer to a client that has given too many wrong passwords, and may try again after so many seconds.
  static func tooManyPasswords(seconds: Double) -> GatewayAnswer {
    // The rest of a minute may be a rounding error more than whole seconds.
    let whole = Int(max(1, (seconds - 0.001).rounded(.up)))
    return GatewayAnswer(429, "too many wrong passwords came from this client", retryAfter: whole)
  }

  static func badTarget(_ reason: String) -> GatewayAnswer { GatewayAnswer(400, reason) }

  /// The answer to a request that failed before its response began.
  init(_ outcome: RequestOutcome, _ failure: ExchangeFailure?) {
    switch failure {
    case .rejected(.circuitOpen(let seconds))?:
      self.init(503, "the upstream has failed too often, and few requests are let through")
      // If the time at which a request is let through is unknown, the client may retry after a second.
      retryAfter = Int(max(1, (seconds ?? 1).rounded(.up)))
    case .rejected(.overloaded(let reason, let seconds))?:
      self.init(503, Self.text(of: reason))
      retryAfter = Int(max(1, seconds.rounded(.up)))
      refusal = .load(reason)
    case .unauthenticated(let refusal)?:
      self.init(503, "there is no token for the upstream")
      retryAfter = Int(max(1, refusal.retryAfter.rounded(.up)))
      self.refusal = .credential
    case .rejected(.noEndpoint)?:
      self.init(503, "the upstream has no endpoint")
      retryAfter = 1
    case .transfer(let failure)? where failure.proxyKind != nil:
      self.init(GatewayAnswer(outcome).status, Self.text(ofProxys: failure))
    default: self.init(outcome)
    }
  }

  /// The sentence about a failure of the proxy on the way.
  private static func text(ofProxys failure: TransferFailure) -> String {
    if !failure.isOfProxy { return "the proxy on the way could not reach the upstream" }
    return switch failure.proxyKind {
    case .proxyRefused: "the proxy on the way to the upstream has refused the connection"
    case .proxyUnauthorized: "the proxy on the way to the upstream wants another credential"
    case .proxyTimeout: "the proxy on the way to the upstream did not answer in time"
    case .proxyTLS: "no trusted connection to the proxy on the way to the upstream"
    default: "the proxy on the way to the upstream can't be reached or broke off"
    }
  }

  private static func text(of reason: ShedReason) -> String {
    switch reason {
    case .overload: "the upstream gets more requests than it can answer in time"
    case .waited: "the upstream gets more requests than it can answer in time; this one has waited for too long"
    case .silent: "the upstream has ceased to answer"
    case .paused: "the upstream has asked for a pause"
    case .pace: "more requests wait for the upstream than its pace allows in time"
    }
  }

  init(_ outcome: RequestOutcome) {
    switch outcome {
    case .timeout: self.init(504, "the upstream did not answer in time")
    case .rejected: self.init(503, "too many requests wait for the upstream")
    case .sessionEnded, .cancelled: self.init(503, "the gateway is shutting down")
    case .tlsError: self.init(502, "no trusted connection to the upstream")
    case .limitExceeded: self.init(502, "the upstream's response exceeds a limit")
    case .transportError: self.init(502, "the upstream can't be reached or broke off")
    case .adaptationFailed, .creationFailed, .retryFailed: self.init(502, "the request could not be prepared")
    // These outcomes follow a response. Here they only mean that it can't be passed on.
    case .success, .httpError, .validationFailed, .serializationFailed, .fileError:
      self.init(502, "the upstream's response can't be passed on")
    }
  }

  private init(
    _ status: Int, _ text: String, retryAfter: Int? = nil, acceptedCodings: String? = nil, challenges: [String] = []
  ) {
    self.status = status
    line = text
    self.retryAfter = retryAfter
    self.acceptedCodings = acceptedCodings
    self.challenges = challenges
  }

  var text: String { line + "\n" }
}
