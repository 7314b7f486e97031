import Synchronization
import WeirExporter
import WeirHTTP
import WeirIO
import WeirResolver
import WeirServer

/// The page `/probe` of the metrics address, which asks a target and shows what it found, as blackbox_exporter does.
final class ProbePage: Sendable {
  static let path = "/probe"
  /// The most probes at once.
  static let limit = 64
  /// Seconds that a scrape keeps for the way back, and that one has which doesn't tell.
  private static let reserve = 0.5
  private static let longest = 120.0

  private struct State {
    var configuration: ProbeConfiguration
    var running = 0
  }

  private let desk: ProbeDesk
  private let state: Mutex<State>

  init(_ configuration: ProbeConfiguration, servers: ResolverServers = .system) throws(Errno) {
    desk = try ProbeDesk(servers: servers)
    state = Mutex(State(configuration: configuration))
  }

  /// Has later probes go by another configuration.
  func follow(_ configuration: ProbeConfiguration) {
    state.withLock { $0.configuration = configuration }
  }

  /// Keeps this object.
  var page: ExporterPage {
    ExporterPage { request, done in self.answer(request, done) }
  }

  private func answer(_ request: RequestHead, _ done: @escaping @Sendable (ExporterPage.Response) -> Void) {
    let configuration = state.withLock { $0.configuration }
    let order: ProbeOrder, isDebug: Bool
    do throws(ProbeProblem) {
      let query = QueryItems(request.query ?? "")
      order = try Self.order(query, request.fields.combined("X-Prometheus-Scrape-Timeout-Seconds"), configuration)
      isDebug = try Self.value("debug", query) == "true"
    } catch {
      return done(ExporterPage.Response(status: 400, text: error.description + "\n"))
    }
    guard enter() else {
      let text = "\(Self.limit) probes are under way; scrape less often, or with fewer targets at once\n"
      return done(ExporterPage.Response(status: 503, fields: [("Retry-After", "1")], text: text))
    }
    desk.run(order) { [self] result in
      state.withLock { $0.running -= 1 }
      if isDebug { return done(ExporterPage.Response(status: 200, text: Self.debugText(result, order))) }
      let type = (name: "Content-Type", value: "text/plain; version=0.0.4; charset=utf-8")
      done(ExporterPage.Response(status: 200, fields: [type], body: Array(result.metrics.utf8)))
    }
  }

  private func enter() -> Bool {
    state.withLock { state in
      guard state.running < Self.limit else { return false }
      state.running += 1
      return true
    }
  }

  private static func debugText(_ result: ProbeDesk.Result, _ order: ProbeOrder) -> String {
    """
    Logs for the probe:
    \(result.log)


    Metrics that would have been returned:
    \(result.metrics)


    Module configuration:
    \(order.module.text)
    """
  }

  // MARK: Orders

  /// The probe that a query asks for.
  ///
  /// - Parameter scrapeTimeout: The value of the field in which a scraper announces its timeout.
  static func order(
    _ query: QueryItems, _ scrapeTimeout: String?, _ configuration: ProbeConfiguration
  ) throws(ProbeProblem) -> ProbeOrder {
    let moduleName = try value("module", query) ?? ProbeConfiguration.standardModule
    var module = try configuration.module(named: moduleName) { "the probe file has \($0.count)" }
    guard let target = try value("target", query) else {
      throw ProbeProblem("the target is missing: /probe?target=URL&module=NAME")
    }
    if let host = try value("hostname", query) {
      if let own = module.header("Host"), own != host {
        throw ProbeProblem("the module has the header Host, \(quoted(own)), so that there can be no hostname")
      }
      guard FieldSyntax.isValue(host.utf8) else { throw ProbeProblem("the hostname is not a host") }
      module.headers = module.headers.filter { !FieldSyntax.isSameName($0.name, "Host") }
      module.headers.append(HeaderRule(name: "Host", value: host))
    }
    return ProbeOrder(
      target: target, moduleName: moduleName, module: module, targets: configuration.targets,
      timeout: try timeout(module, scrapeTimeout))
  }

  /// Seconds for a probe: the module's timeout or the scrape's, less half a second for the way back, whichever is
  /// shorter.
  private static func timeout(_ module: ProbeModule, _ scrapeTimeout: String?) throws(ProbeProblem) -> Double {
    var limit = longest
    // An empty field says nothing, as for blackbox_exporter.
    if let scrapeTimeout, !scrapeTimeout.isEmpty {
      guard let seconds = Double(scrapeTimeout), seconds.isFinite else {
        throw ProbeProblem("X-Prometheus-Scrape-Timeout-Seconds is not a number")
      }
      if seconds > 0 { limit = min(limit, seconds) }
    }
    // A scrape that waits less than half a second leaves half of its time.
    let most = max(limit - reserve, limit / 2)
    return module.timeout.map { min($0, most) } ?? most
  }

  /// The first value of a name; nil for none and for an empty one.
  private static func value(_ name: String, _ query: QueryItems) throws(ProbeProblem) -> String? {
    do throws(QueryItems.Malformed) {
      return try query.values(of: name).first.flatMap { $0.isEmpty ? nil : $0 }
    } catch {
      throw ProbeProblem("the \(name) is not percent-encoded UTF-8")
    }
  }
}
