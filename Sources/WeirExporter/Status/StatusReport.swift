/// All that the status page tells at one moment. The page for people and the JSON are made of it alone, so that both
/// say the same.
package struct StatusReport: Sendable {
  /// The heading of the page.
  package var title: String
  package var version: String
  /// Seconds since 1970.
  package var started: Double
  package var now: Double
  /// Nil for a program without a configuration file.
  package var configuration: ConfigurationState?
  /// The worst first.
  package var problems: [StatusProblem] = []
  package var listeners: [Listener] = []
  /// In the order of the configuration.
  package var routes: [Route] = []
  package var upstreams: [Upstream] = []
  /// In the order of the configuration.
  package var credentials: [Credential] = []
  /// The latest first; at most 50.
  package var failures: [RecentRequest] = []
  /// The slowest first; at most 50, of the last five to ten minutes.
  package var slowest: [RecentRequest] = []

  package struct ConfigurationState: Sendable {
    /// Nil if the program runs without one.
    package var file: String?
    /// When the present one was loaded, in seconds since 1970.
    package var loaded: Double
    /// Whether the last attempt to load it succeeded.
    package var isSuccessful: Bool

    package init(file: String?, loaded: Double, isSuccessful: Bool) {
      self.file = file
      self.loaded = loaded
      self.isSuccessful = isSuccessful
    }
  }

  package struct Listener: Sendable {
    package var name: String
    package var address: String
    package var isSecure: Bool
    /// Open connections in a handshake, idle, and with a request under way.
    package var handshaking: Int
    package var idle: Int
    package var active: Int

    package init(name: String, address: String, isSecure: Bool, handshaking: Int, idle: Int, active: Int) {
      self.name = name
      self.address = address
      self.isSecure = isSecure
      self.handshaking = handshaking
      self.idle = idle
      self.active = active
    }
  }

  package struct Route: Sendable {
    package var name: String
    /// Where it leads, as the configuration says it; empty for one that answers itself.
    package var upstream: String
    package var traffic: Traffic

    package init(name: String, upstream: String, traffic: Traffic) {
      self.name = name
      self.upstream = upstream
      self.traffic = traffic
    }
  }

  /// A destination of requests: an entry of `upstreams`, or a host with a port.
  package struct Upstream: Sendable {
    package var name: String
    package var traffic: Traffic
    /// Requests that have begun and not ended.
    package var inFlight = 0
    /// Those of them without an attempt on the wire: they wait for a slot or a retry.
    package var waiting = 0
    /// Retries that the budget would grant now; nil without a budget.
    package var budget: Double?
    /// `closed`, `open` or `half_open`; nil without a circuit.
    package var circuit: String?
    /// Attempts that load control allows at once, and those that count against that; nil without load control.
    package var limit: Int?
    package var used: Int?
    /// The state of load control.
    package var loadControl: String?
    /// Whether attempts there have a pace.
    package var hasPace = false
    /// Seconds until the end of the pause that it has asked for; nil without one.
    package var pausedFor: Double?
    /// Empty for one that is a host.
    package var endpoints: [Endpoint] = []
    /// Those that have a name, and had requests in the last five minutes. The slowest first.
    package var operations: [Operation] = []
    /// Attempts of the last ten seconds that failed, with a name or without.
    package var failedAttempts10s = 0
  }

  /// The requests of a destination with one name. Durations and failures are those of attempts.
  package struct Operation: Sendable {
    package var name: String
    package var last10s: Window
    package var last5m: Window

    /// Whether the last ten seconds have enough requests to judge by.
    var isJudged: Bool { last10s.requests >= StatusProblems.leastRequests }
  }

  package struct Endpoint: Sendable {
    package var address: String
    /// `available`, `slow_start`, `ejected` or `unhealthy`.
    package var state: String
    /// Its part of the upstream's attempts, 0 to 1, of the last ten seconds and five minutes; nil without attempts.
    package var share10s: Double?
    package var share5m: Double?
    /// Failed attempts of the last ten seconds and five minutes.
    package var failures10s: Int
    package var failures5m: Int
    /// The mean time to the first byte, in seconds.
    package var ewma: Double?
    package var inFlight: Int
    /// The last of the latest failures that came from it.
    package var lastFailure: RecentRequest?

    package init(address: String, state: String, inFlight: Int, failures10s: Int = 0, failures5m: Int = 0) {
      self.address = address
      self.state = state
      self.inFlight = inFlight
      self.failures10s = failures10s
      self.failures5m = failures5m
    }
  }

  /// A credential that the gateway gets for requests to upstreams. No text of it holds the secret itself.
  package struct Credential: Sendable {
    package var name: String
    /// `good`; `missing`: without a value that can be used; `failing`: the value is good, the next one can't be had.
    package var state: String
    /// Seconds until the present value is of no use; nil for one that does not expire, and without one.
    package var expiresIn: Double?
    /// The last failure in words, until there is a new value; nil without one.
    package var failure: String?
    /// Requests that wait for it.
    package var waiting: Int

    package init(name: String, state: String, expiresIn: Double?, failure: String?, waiting: Int) {
      self.name = name
      self.state = state
      self.expiresIn = expiresIn
      self.failure = failure
      self.waiting = waiting
    }
  }

  /// The outcomes of requests, as counts and times.
  package struct Traffic: Sendable {
    package var last10s = Window()
    package var last5m = Window()
    package var history = History()

    package init() {}
  }

  /// Counts of a span of time that ends now.
  package struct Window: Sendable {
    /// The length of the span, in seconds.
    package var seconds = 0.0
    /// Requests that ended.
    package var requests = 0
    /// Those of them that count as failed (`weir_requests_failed_total`, `weir_gateway_requests_failed_total`).
    package var failed = 0
    /// Requests that had another outcome than success, by that, the most frequent first.
    package var outcomes: [Named] = []
    package var attempts = 0
    /// Retries that were carried out, by what caused them, the most frequent first.
    package var retries: [Named] = []
    /// Retries that were wanted and not carried out for lack of budget, for load control or for the pace.
    package var denied = 0
    /// Attempts that were answered with 429.
    package var limited = 0
    /// Requests that load control or the pace refused.
    package var shed = 0
    /// Those of them that the pace refused.
    package var paced = 0
    /// Requests whose caller left.
    package var abandoned = 0
    /// Retries that were wanted, carried out or not, per request; nil without requests or without retries to speak of.
    package var retryDemand: Double?
    /// Durations of requests in seconds, interpolated within the histogram's buckets; nil without requests.
    package var p50: Double?
    package var p99: Double?
    /// How many durations those are made of.
    package var observations = 0
    /// The same of attempts' phases, in their order on the wire; those without observations are left out.
    package var phases: [Phase] = []
  }

  package struct Named: Sendable, Equatable {
    package var name: String
    package var count: Int
  }

  package struct Phase: Sendable, Equatable {
    package var name: String
    package var p50: Double
    package var p99: Double
  }

  /// The last five minutes in buckets of five seconds, the oldest first. The last bucket is not over yet.
  package struct History: Sendable {
    package static let bucketSeconds = 5
    package static let count = 60

    package var requests = [Int](repeating: 0, count: count)
    package var failed = [Int](repeating: 0, count: count)
    /// Retries that were wanted, carried out or not.
    package var retriesWanted = [Int](repeating: 0, count: count)
    /// Seconds; nil in buckets without requests.
    package var p99 = [Double?](repeating: nil, count: count)
  }
}

/// Something that is wrong, in words for people on call.
package struct StatusProblem: Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    case destination, storm, endpoint, discovery, credential, limit, certificate, secret, configuration, lag,
      descriptors, log
  }

  package enum Severity: String, Sendable, Comparable {
    /// Users notice it, or soon will.
    case bad
    /// It can wait for the day.
    case warning

    package static func < (left: Self, right: Self) -> Bool { left == .bad && right == .warning }
  }

  package var kind: Kind
  package var severity: Severity
  /// The upstream, route, credential, listener, key or file that it is about; may be empty.
  package var subject: String
  /// A whole sentence or two, without the subject before it: "31 % of requests want a retry".
  package var text: String

  package init(_ kind: Kind, _ severity: Severity, _ subject: String, _ text: String) {
    self.kind = kind
    self.severity = severity
    self.subject = subject
    self.text = text
  }
}

/// A request that has ended, as the lists of failures and of slow requests show it.
package struct RecentRequest: Sendable, Equatable {
  /// When it ended, in seconds since 1970.
  package var time: Double
  /// Empty without routes.
  package var route = ""
  package var upstream = ""
  /// The last one that was tried.
  package var endpoint: String?
  package var method = ""
  /// Without query, at most ``mostPathOctets``.
  package var path = ""
  /// 0 if no response was begun.
  package var status = 0
  package var outcome = ""
  /// The label of the error; empty without one.
  package var error = ""
  package var seconds = 0.0
  package var attempts = 0
  package var traceID: String?

  package static let mostPathOctets = 256

  package init(time: Double) {
    self.time = time
  }

  /// A path as it may be shown: cut before its query, and to the length that is kept.
  package static func shown(path: String) -> String {
    let path = path.prefix { $0 != "?" && $0 != "#" }
    guard path.utf8.count > mostPathOctets else { return String(path) }
    let end = path.utf8.index(path.startIndex, offsetBy: mostPathOctets - "…".utf8.count)
    return path.unicodeScalars.indices.last { $0 <= end }.map { path[..<$0] + "…" } ?? ""
  }
}
