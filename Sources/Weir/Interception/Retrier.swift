/// A retrier made of a closure; it never changes a request.
// Sendable: all stored properties are constant and Sendable; a subclass must ensure the same for its own.
open class Retrier: RequestInterceptor, NamedInterceptor, RetryOnlyInterceptor, @unchecked Sendable {
  /// The retrier's name in metrics; nil means the name of its type.
  public let name: String?
  private let retryHandler: RetryHandler

  /// Takes a closure, which runs on the thread on which a ``RequestRetrier`` is called.
  @preconcurrency
  public init(_ retryHandler: @escaping RetryHandler, name: String? = nil) {
    self.retryHandler = retryHandler
    self.name = name
  }

  /// Takes an async closure, which returns the answer.
  ///
  /// It begins on the thread on which a ``RequestRetrier`` is called and continues on Swift's own threads. Its task is
  /// cancelled if the request ends first: by `cancel()`, its deadline or its session's end. While it runs, it keeps the
  /// session alive.
  ///
  /// `name`: The retrier's name in metrics; nil means the name of its type.
  public init(name: String? = nil, _ retryHandler: @escaping AsyncRetryHandler) {
    self.retryHandler = { request, session, error, completion in
      PendingAnswer.make(for: request, completion) { await retryHandler(request, session, error) }
    }
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
  public static func retrier(name: String? = nil, using closure: @escaping RetryHandler) -> Retrier {
    Retrier(closure, name: name)
  }

  /// A retrier made of an async closure; see ``Retrier/init(name:_:)``.
  public static func retrier(name: String? = nil, using closure: @escaping AsyncRetryHandler) -> Retrier {
    Retrier(name: name, closure)
  }
}
