/// An adapter and a retrier in one; by default it changes nothing and retries nothing.
@preconcurrency
public protocol RequestInterceptor: RequestAdapter, RequestRetrier {}

extension RequestInterceptor {
  @preconcurrency
  public func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void
  ) {
    completion(.doNotRetry)
  }
}

/// Answers with the adapted request or an error.
public typealias AdaptHandler =
  @Sendable (
    URLRequest, Session, _ completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
  ) -> Void

/// Answers whether the request is tried again.
public typealias RetryHandler =
  @Sendable (
    Request, Session, any Error, _ completion: @escaping @Sendable (RetryResult) -> Void
  ) -> Void

/// Returns the adapted request, or throws an error.
public typealias AsyncAdaptHandler = @Sendable (URLRequest, RequestAdapterState) async throws -> URLRequest

/// Returns whether the request is tried again.
public typealias AsyncRetryHandler = @Sendable (Request, Session, any Error) async -> RetryResult
