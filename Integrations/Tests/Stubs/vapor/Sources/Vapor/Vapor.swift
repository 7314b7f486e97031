@_exported public import Foundation
@_exported public import Logging
public import ServiceContextModule

// Names that weir has too.
public final class Session: Sendable {}

public enum HTTPMethod: Sendable {}

public struct Environment: Sendable {
  public static func detect() throws -> Environment { Environment() }
}

extension LoggingSystem {
  public static func bootstrap(from environment: inout Environment) throws {}
}

public struct Parameters: Sendable {
  public func require(_ name: String) throws -> String { name }
}

public final class Request: Sendable {
  public let logger = Logger(label: "stub")
  public let parameters = Parameters()
  public let serviceContext = ServiceContext.topLevel
}

public protocol Middleware: Sendable {}

public final class TracingMiddleware: Middleware { public init() {} }

public struct Middlewares: Sendable {
  public mutating func use(_ middleware: any Middleware) {}
}

public protocol AsyncResponseEncodable {}

extension String: AsyncResponseEncodable {}

public struct PathComponent: Sendable, ExpressibleByStringLiteral {
  public init(stringLiteral value: String) {}
}

public final class Route: Sendable {}

public final class Application: Sendable {
  public static func make(_ environment: Environment) async throws -> Application { Application() }

  public var logger: Logger { Logger(label: "stub") }

  public var middleware: Middlewares {
    get { Middlewares() }
    set {}
  }

  @discardableResult
  public func get<Response: AsyncResponseEncodable>(
    _ path: PathComponent..., use closure: @Sendable @escaping (Request) async throws -> Response
  ) -> Route { Route() }

  public func execute() async throws {}
  public func asyncShutdown() async throws {}
}
