import WeirHTTP
import WeirIO
package import WeirTransport

/// The gateway's configuration, read and checked.
package struct Configuration: Sendable, Equatable {
  static let maximumRoutes = 1000

  /// The routes in the order of the file. Their names are unique, and no two match the same requests.
  package var routes: [Route]
  /// The listeners in the order of the file; none for that of `--gateway.listen-address`.
  package var listeners: [ListenerSettings] = []
  /// The upstreams that routes may name, by name.
  package var upstreams: [NamedUpstream] = []
  /// The credentials that routes and upstreams may name, in the order of the file. Their names are unique.
  package var credentials: [CredentialSettings] = []
  /// The log of requests; nil without one.
  package var accessLog: AccessLogSettings?
  /// Nil if the fields of traces pass as they are.
  package var trace: TraceSettings?
  /// Where spans and metrics are exported; nil if they are not.
  package var telemetry: GatewayTelemetry?
  /// Nil if requests get no identifiers.
  package var requestID: RequestIDSettings?
  /// Notes on parts that break no rule but are probably mistakes, in the order of the file. Those that come of a comparison
  /// of routes are behind the others.
  package var warnings: [ConfigurationProblem] = []
  private var secrets = SecretFiles()

  /// The files of the configuration that hold secrets, each with the path of its key. They don't count for equality.
  package var secretFiles: [(key: String, file: SecretFile)] {
    get { secrets.files }
    set { secrets.files = newValue }
  }

  /// Notes for `weir check` alone: on the environment's proxies, and on the files of secrets, which Kubernetes mounts so that
  /// all users may read them.
  var notes: [String] {
    environmentNotes
      + secretFiles.compactMap { key, file in
        let status = try? FileSystem.status(ofFile: file.path, followsLink: true)
        guard let status, status.permissions & 0o004 != 0 else { return nil }
        return "\(key): every user of this machine may read \(quoted(file.path)); chmod o-r ends that"
      }
  }

  package init(routes: [Route], upstreams: [NamedUpstream] = []) {
    self.routes = routes
    self.upstreams = upstreams
  }

  /// The names, in lower case, of the fields of requests that decide about routes, limits, upstreams or endpoints.
  var believedFields: [[UInt8]] {
    var names = Set(routes.flatMap(\.match.headers.keys))
    for route in routes {
      for case .header(let name) in route.limits.rates.map(\.key) + route.limits.concurrency.map(\.key) {
        names.insert(Array(name.utf8))
      }
    }
    let splits = routes.map { if case .split(let split) = $0.action { split.key } else { RequestKey?.none } }
    for case .header(let name)? in splits + upstreams.map(\.balanceKey) {
      names.insert(Array(FieldSyntax.lowercased(name).utf8))
    }
    // Cookie, Authorization and such are no concern: nothing reads like a name of letters alone.
    return names.filter { !$0.allSatisfy(\.isLetterOrDigit) }.sorted { $0.lexicographicallyPrecedes($1) }
  }
}

/// Files that are equal to any others: a configuration that is read again has other objects for the same files.
private struct SecretFiles: Sendable, Equatable, CustomReflectable {
  var files: [(key: String, file: SecretFile)] = []

  var customMirror: Mirror { Mirror(self, children: ["keys": files.map(\.key)]) }

  static func == (left: Self, right: Self) -> Bool { true }
}

/// How traces go on through the gateway (W3C Trace Context).
package struct TraceSettings: Sendable, Equatable {
  /// Whether a request without a trace begins one.
  package var begins = false
  /// The share of the traces that begin here that are sampled.
  package var sample = 0.01
  /// Whether the spans of requests that failed, were retried or were slow are exported even if their trace is not sampled.
  package var keepsFailures = false
  /// Seconds from which on a request is slow; nil if none is.
  package var keepsSlower: Double?
  /// Decides which traces are sampled; nil stands for ``sample`` where there is no caller.
  package var sampler: TraceSampler?
}

/// The field that names a request in the logs of all that handle it.
package struct RequestIDSettings: Sendable, Equatable {
  package var header = "X-Request-ID"
  /// Whether the client's name for the request is kept.
  package var trust = true

  /// The longest name of a client.
  static let longest = 128
}
