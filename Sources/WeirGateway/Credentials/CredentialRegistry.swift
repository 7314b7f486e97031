import Synchronization
import Weir
import WeirCurl
import WeirExporter
import WeirIO
import WeirTransport

/// The credentials of all routes and upstreams. It outlives reloads, so that tokens stay. A session of the library's
/// fetches them.
final class CredentialRegistry: Sendable {
  private struct State {
    /// In the order of the configuration.
    var credentials: [OutboundCredential] = []
    var sessions: [Way: Session] = [:]
    var files: [(key: String, file: SecretFile)] = []
  }

  /// A way to token services.
  private struct Way: Hashable {
    let tls: UpstreamTLS?
    let proxy: ProxyOptions
  }

  private let events: CredentialEvents
  private let monitors: [any EventMonitor]
  private let state = Mutex(State())

  /// - Parameter monitor: Measures the requests to token services.
  init(monitor: MetricsMonitor?, log: Logger) {
    events = CredentialEvents(monitor: monitor, log: log)
    monitors = monitor.map { [$0] } ?? []
  }

  deinit { close() }

  /// The credential of this name, if something uses it.
  subscript(name: String?) -> OutboundCredential? {
    name.flatMap { name in all.first { $0.name == name } }
  }

  /// All that are used, in the order of the configuration.
  var all: [OutboundCredential] { state.withLock { $0.credentials } }

  /// The files that hold secrets, each with its key in the configuration.
  var files: [(key: String, file: SecretFile)] { state.withLock { $0.files } }

  /// Takes the credentials of a configuration that something uses. Those that it doesn't have go; one whose keys are the
  /// same keeps its token, and one that has other secrets alone keeps it until there is a new one.
  func follow(_ configuration: Configuration) {
    let used = configuration.usedCredentials
    let settings = configuration.credentials.filter { used.contains($0.name) }
    for (_, file) in files { file.report(nil) }
    for (key, file) in configuration.secretFiles {
      file.report { [events, path = file.path] in events.note(key, path, $0) }
    }
    let before = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    let sessions = state.withLock { $0.sessions }
    var keptSessions: [Way: Session] = [:]
    var made: [String: OutboundCredential] = [:]
    func source(_ settings: CredentialSettings) -> OutboundCredential.TokenSource? {
      guard case .oauth2(let oauth2, let tls, let proxy, _) = settings.kind else { return nil }
      let way = Way(tls: tls, proxy: proxy.options { made[$0] })
      let session = keptSessions[way] ?? sessions[way] ?? makeSession(way)
      keptSessions[way] = session
      return .init(authenticator: OAuth2Authenticator(oauth2), session: session)
    }
    // Those of proxies on the way to token services come first. They are no tokens.
    for settings in settings.filter({ !$0.isFetched }) + settings.filter(\.isFetched) {
      let source = source(settings)
      if let old = before[settings.name], old.settings == settings {
        old.follow(source)
        made[old.name] = old
      } else if let old = before[settings.name], source != nil, old.settings.differsInSecretsAlone(from: settings) {
        old.follow(settings, source)
        made[old.name] = old
      } else {
        before[settings.name]?.retire()
        let new = OutboundCredential(settings, source, events)
        if source != nil { events.prepare(new.name) }
        new.fetch()
        made[new.name] = new
      }
    }
    let present = settings.compactMap { made[$0.name] }
    let gone = Set(before.keys).subtracting(present.map(\.name))
    let next = State(credentials: present, sessions: keptSessions, files: configuration.secretFiles)
    state.withLock { $0 = next }
    for name in gone {
      before[name]?.retire()
      events.forget(name)
    }
  }

  private func makeSession(_ way: Way) -> Session {
    Session(configuration: .tokens(tls: way.tls, proxy: way.proxy), eventMonitors: monitors)
  }

  /// Waits until each has been fetched, or could not be.
  func settle(within seconds: Double) async {
    let end = MonotonicTime.now.advanced(bySeconds: seconds)
    while all.contains(where: { !$0.isSettled }), MonotonicTime.now < end {
      try? await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Ends requests for tokens.
  func close() {
    let sessions = state.withLock { state in
      defer { state.sessions = [:] }
      return state.sessions.values.map(\.self)
    }
    for session in sessions { session.invalidateAndCancel() }
  }
}

extension Configuration {
  /// The names of the credentials that something uses: a route, an entry of `upstreams` that a route names, the export of
  /// telemetry, or a proxy on the way of one of them.
  fileprivate var usedCredentials: Set<String> {
    let named = Set(routes.flatMap(\.upstreams).filter(\.isNamed).map(\.host))
    let entries = upstreams.filter { named.contains($0.name) }
    let names = Set(
      (routes.filter(\.forwards).flatMap { [$0.credential, $0.proxy.credential] } + entries.map(\.credential)
        + entries.map(\.proxy.credential) + [telemetry?.credential, telemetry?.proxy.credential]).compactMap(\.self))
    let services = credentials.filter { names.contains($0.name) }.compactMap { credential in
      if case .oauth2(_, _, let proxy, _) = credential.kind { proxy.credential } else { nil }
    }
    return names.union(services)
  }
}

extension SessionConfiguration {
  /// For requests for tokens.
  static func tokens(tls: UpstreamTLS?, proxy: ProxyOptions) -> SessionConfiguration {
    var configuration = OAuth2Authenticator.sessionConfiguration(tls: tls?.configuration)
    configuration.proxyOptions = proxy
    return configuration
  }
}

extension CredentialSettings {
  fileprivate var isFetched: Bool { if case .oauth2 = kind { true } else { false } }

  /// Whether tokens are asked for in the same way but for the secrets that are given.
  fileprivate func differsInSecretsAlone(from other: CredentialSettings) -> Bool {
    guard case .oauth2(let own, let tls, let proxy, let wait) = kind,
      case .oauth2(let others, tls, proxy, wait) = other.kind
    else {
      return false
    }
    return own.withoutSecrets == others.withoutSecrets
  }
}

extension OAuth2Settings {
  fileprivate var withoutSecrets: OAuth2Settings {
    var settings = self
    settings.authentication =
      switch authentication {
      case .basic: .basic("")
      case .post: .post("")
      case .assertion: .assertion("")
      default: .none
      }
    settings.grant =
      switch grant {
      case .jwtBearer: .jwtBearer(assertion: "")
      case .tokenExchange(_, let type): .tokenExchange(subjectToken: "", subjectTokenType: type)
      default: .clientCredentials
      }
    settings.parameters = parameters.mapValues { _ in "" }
    return settings
  }
}

extension UpstreamTLS {
  /// The library's form of these settings.
  var configuration: TLSConfiguration {
    var configuration = TLSConfiguration()
    if let authority { configuration.trustRoots = .pem(Data(authority)) }
    if let certificate {
      configuration.clientCertificate = .init(
        certificate: .data(Data(certificate)), privateKey: key.map { .data(Data($0)) })
    }
    configuration.pinnedPublicKeys = pins
    configuration.minimumVersion = minimumVersion
    configuration.serverName = serverName
    return configuration
  }
}

/// Tells metrics and log of what happens to credentials.
struct CredentialEvents: Sendable {
  let monitor: MetricsMonitor?
  let log: Logger

  /// Makes the series at zero.
  func prepare(_ name: String) { monitor?.prepare(interceptor: name) }

  func forget(_ name: String) { monitor?.forget(interceptor: name) }

  func tell(_ name: String, _ kind: RefreshEvent.Kind) {
    monitor?.refresh(RefreshEvent(interceptor: name, kind: kind, waiters: 0))
  }

  /// - Parameter rest: Seconds for which the token before is good.
  func failed(_ name: String, _ failure: OAuth2Error, expiresIn rest: Double, silence: Double) {
    log.warn(
      "no token for a credential",
      [
        "credential": .string(name), "reason": .string(failure.reason.rawValue), "error": .string(failure.text),
        "retry_in": .seconds(silence), "expires_in": .seconds(rest),
      ])
  }

  func recovered(_ name: String) { log.info("a credential is good again", ["credential": .string(name)]) }

  func requestsRefused(_ refusal: CredentialRefusal, count: Int) {
    log.warn(
      "requests are refused, as there is no token",
      [
        "credential": .string(refusal.credential), "reason": .string(refusal.reason.rawValue),
        "error": .string(refusal.text), "count": .integer(count),
      ])
  }

  /// - Parameter problem: Nil if new content was read.
  func note(_ key: String, _ file: String, _ problem: SecretFile.Problem?) {
    let (key, file) = (LogValue.string(key), LogValue.string(file))
    guard let problem else { return log.info("a secret's file was read anew", ["key": key, "file": file]) }
    log.warn(
      "a secret's file can't be used; what was read before stays in force",
      ["key": key, "file": file, "reason": .string(problem.reason)])
  }
}
