import WeirIO
import WeirMetrics
import WeirServer

/// The content of an exporter, independent of where and when it listens.
struct Site: Sendable {
  let title: String
  let isReady: @Sendable () -> Bool
  let actions: [String: AdminAction]
  let pages: [String: ExporterPage]
  /// The limits as the user gave them.
  let limits: Exporter.Limits
  let secure: (@Sendable () -> (any SecureChannel)?)?
  private let stopLinger: Double
  let onServerEvent: (@Sendable (ServerEvent) -> Void)?
  let fields: FixedFields
  let access: AccessPolicy
  let metrics: ScrapeMetrics
  let renderer: PageRenderer

  init(registry: Registry, options: Exporter.Options) throws(ExporterError) {
    title = options.title
    isReady = options.isReady
    actions = options.actions
    pages = options.pages
    limits = options.limits
    secure = options.secure
    stopLinger = options.stopLinger
    onServerEvent = options.onServerEvent
    access = AccessPolicy(try AccessRules.of(options.access))
    fields = try FixedFields(extra: options.headers)
    renderer = PageRenderer(registry: registry, showsCreated: options.showsCreated)
    do throws(RegistryError) {
      metrics = try ScrapeMetrics(registry, asksWhoComes: options.access != nil)
      if options.registersProcessMetrics { try Self.registerProcess(in: registry) }
    } catch {
      throw ExporterError(error)
    }
  }

  /// Registers the process' metrics, unless another exporter or the user has registered metrics of these names.
  private static func registerProcess(in registry: Registry) throws(RegistryError) {
    let collector = ProcessCollector()
    if !collector.metrics.contains(where: { registry.isRegistered($0.name) }) { try registry.register(collector) }
    if !registry.isRegistered("weir_build_info") { try BuildInfo.current.register(in: registry) }
  }

  func handler(on loop: EventLoop, address: SocketAddress, limits: Exporter.Limits) -> ExporterHandler {
    let scraper = LoopBound(
      Scraper(loop: loop, renderer: renderer, metrics: metrics, fields: fields, limits: limits), on: loop)
    let landingPage = LandingPage(title: title, address: "\(address)", since: .now)
    return ExporterHandler(
      door: LoopBound(Door(access, on: loop), on: loop), scraper: scraper, landingPage: landingPage, fields: fields,
      isReady: isReady, actions: actions, pages: pages)
  }

  func serverLimits(_ limits: Exporter.Limits) -> ServerLimits {
    var server = ServerLimits()
    server.connections = limits.connections
    server.headerBytes = 16 * 1024
    server.bodyBytes = 64 * 1024
    // Longer than Prometheus keeps its side open (five minutes), so that no scrape meets a connection that is being
    // closed.
    server.idleTimeout = 330
    server.stopLinger = stopLinger
    return server
  }
}
