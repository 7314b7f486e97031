public import FoundationNetworking

/// An adapter made of a closure; it never retries.
// Sendable: all stored properties are constant and Sendable; a subclass answers for its own.
open class Adapter: RequestInterceptor, NamedInterceptor, AdaptOnlyInterceptor, @unchecked Sendable {
  /// The name under which it is measured; nil means the type's.
  public let name: String?
  private let adaptHandler: AdaptHandler

  /// Takes the closure; it runs where a ``RequestAdapter`` is called.
  @preconcurrency
  public init(_ adaptHandler: @escaping AdaptHandler, name: String? = nil) {
    self.adaptHandler = adaptHandler
    self.name = name
  }

  @preconcurrency
  open func adapt(
    _ urlRequest: URLRequest, for session: Session,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    adaptHandler(urlRequest, session, completion)
  }

  @preconcurrency
  open func adapt(
    _ urlRequest: URLRequest, using state: RequestAdapterState,
    completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) {
    adapt(urlRequest, for: state.session, completion: completion)
  }
}

extension RequestAdapter where Self == Adapter {
  /// An adapter made of a closure.
  @preconcurrency
  public static func adapter(using closure: @escaping AdaptHandler) -> Adapter {
    Adapter(closure)
  }
}
