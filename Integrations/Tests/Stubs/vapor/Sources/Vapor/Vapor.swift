@_exported public import Foundation
@_exported public import Logging
public import ServiceContextModule

// Names that weir has too.
public final class Session: Sendable {}

public enum HTTPMethod: Sendable { case POST }

public struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) {}
  public func first(name: String) -> String? { nil }
  public mutating func replaceOrAdd(name: String, value: String) {}
}

public struct HTTPResponseStatus: Sendable {
  public static let noContent = HTTPResponseStatus(statusCode: 204)
  public static let badRequest = HTTPResponseStatus(statusCode: 400)
  public static let badGateway = HTTPResponseStatus(statusCode: 502)
  public static let serviceUnavailable = HTTPResponseStatus(statusCode: 503)
  public static let gatewayTimeout = HTTPResponseStatus(statusCode: 504)
  public init(statusCode: Int) {}
}

public struct Abort: Error {
  public init(_ status: HTTPResponseStatus, headers: HTTPHeaders = [:]) {}
}

// Bodies.
public typealias ByteBufferView = ArraySlice<UInt8>

public struct ByteBuffer: Sendable {
  public let readableBytesView: ByteBufferView
  public init(bytes: some Sequence<UInt8>) { readableBytesView = ArraySlice(bytes) }
}

public enum BodyStreamResult: Sendable {
  case buffer(ByteBuffer)
  case error(any Error)
  case end
}

public protocol AsyncBodyStreamWriter: Sendable {
  func write(_ result: BodyStreamResult) async throws
}

public enum HTTPBodyStreamStrategy: Sendable { case stream }

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
  /// Gives nothing.
  public struct Body: AsyncSequence, Sendable {
    public struct AsyncIterator: AsyncIteratorProtocol {
      public mutating func next() async throws -> ByteBuffer? { nil }
    }
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
  }

  public let body = Body()
  public let headers: HTTPHeaders = [:]
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

public final class Response: AsyncResponseEncodable, Sendable {
  public struct Body: Sendable {
    public init() {}
    public init(
      managedAsyncStream: @escaping @Sendable (any AsyncBodyStreamWriter) async throws -> Void, count: Int
    ) {}
  }

  public var headers: HTTPHeaders {
    get { [:] }
    set {}
  }

  public init(status: HTTPResponseStatus, body: Body = Body()) {}
}

public struct PathComponent: Sendable, ExpressibleByStringLiteral {
  public init(stringLiteral value: String) {}
}

public final class Route: Sendable {}

/// The settings of the server, at `application.http.server.configuration`.
public struct HTTP: Sendable {
  public struct Server: Sendable {
    public struct Configuration: Sendable {
      public struct TimeAmount: Sendable {
        public static func seconds(_ amount: Int64) -> TimeAmount { TimeAmount() }
      }

      public struct RequestDecompression: Sendable { public static let disabled = RequestDecompression() }

      public var shutdownTimeout = TimeAmount()
      public var requestDecompression = RequestDecompression()
    }

    public var configuration: Configuration {
      get { Configuration() }
      nonmutating set {}
    }
  }

  public var server: Server { Server() }
}

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

  public var http: HTTP { HTTP() }

  @discardableResult
  public func on<Response: AsyncResponseEncodable>(
    _ method: HTTPMethod, _ path: PathComponent..., body: HTTPBodyStreamStrategy,
    use closure: @Sendable @escaping (Request) async throws -> Response
  ) -> Route { Route() }

  public func execute() async throws {}
  public func asyncShutdown() async throws {}
}
