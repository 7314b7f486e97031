/// A retrier made of a closure; it never changes a request.
// Sendable: all stored properties are constant and Sendable; a subclass answers for its own.
open class Retrier: RequestInterceptor, NamedInterceptor, RetryOnlyInterceptor, @unchecked Sendable {
  /// The name under which it is measured; nil means the type's.
  public let name: String?
  private let retryHandler: RetryHandler

  /// Takes the closure; it runs where a ``RequestRetrier`` is called.
  @preconcurrency
  public init(_ retryHandler: @escaping RetryHandler, name: String? = nil) {
    self.retryHandler = retryHandler
    self.name = name
  }

  @preconcurrency
  open func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    retryHandler(request, session, error, completion)
  }
}

extension RequestRetrier where Self == Retrier {
  /// A retrier made of a closure.
  @preconcurrency
  public static func retrier(using closure: @escaping RetryHandler) -> Retrier {
    Retrier(closure)
  }
}
