public import Logging
public import ServiceLifecycle
public import UnixSignals

public struct Request: Sendable {}

public struct Parameters: Sendable {
  public func require(_ name: String) throws -> String { name }
}

public protocol RequestContext: Sendable {
  var logger: Logger { get }
  var parameters: Parameters { get }
}

public struct BasicRequestContext: RequestContext {
  public let logger = Logger(label: "stub")
  public let parameters = Parameters()
}

public protocol MiddlewareProtocol<Context>: Sendable { associatedtype Context }

public struct TracingMiddleware<Context: RequestContext>: MiddlewareProtocol { public init() {} }

public struct MetricsMiddleware<Context: RequestContext>: MiddlewareProtocol { public init() {} }

public protocol ResponseGenerator {}

extension String: ResponseGenerator {}

public struct RouterPath: Sendable, ExpressibleByStringLiteral {
  public init(stringLiteral value: String) {}
}

public final class Router<Context: RequestContext> {
  public init(context: Context.Type = BasicRequestContext.self) {}

  @discardableResult
  public func add(middleware: any MiddlewareProtocol<Context>) -> Self { self }

  @discardableResult
  public func get(
    _ path: RouterPath = "", use handler: @Sendable @escaping (Request, Context) async throws -> some ResponseGenerator
  ) -> Self { self }
}

/// A server, which ends on shutdown.
public struct Application: Service {
  private let services: [any Service]
  private let logger: Logger

  public init(router: Router<some RequestContext>, services: [any Service] = [], logger: Logger? = nil) {
    self.services = services
    self.logger = logger ?? Logger(label: "Hummingbird")
  }

  public func run() async throws { try await ServiceGroup(services: services, logger: logger).run() }

  public func runService(gracefulShutdownSignals: [UnixSignal] = [.sigterm, .sigint]) async throws {
    try await ServiceGroup(services: [self], gracefulShutdownSignals: gracefulShutdownSignals, logger: logger).run()
  }
}
