/// Decides whether a failed request is tried again.
///
/// It is asked about errors of every stage; `error` is a ``WeirError``. The completion may be called at once, later,
/// and on any thread; a second call is ignored.
@preconcurrency
public protocol RequestRetrier: Sendable {
  /// Answers whether the request is tried again.
  ///
  /// The first retrier runs on the session's ``Session/rootQueue``, else on the event loop. Each further one runs where
  /// the one before it answered.
  @preconcurrency
  func retry(
    _ request: Request, for session: Session, dueTo error: any Error,
    completion: @escaping @Sendable (RetryResult) -> Void)
}
