/// Decides which responses are kept in ``SessionConfiguration/urlCache``, and in what form.
@preconcurrency
public protocol CachedResponseHandler: Sendable {
  /// Answers with the response to keep, the proposed one or another, or with nil to keep none. `completion` may be
  /// called later and on any thread; the task's completion waits for it.
  @preconcurrency
  func dataTask(
    _ task: TransferTask, willCacheResponse response: CachedURLResponse,
    completion: @escaping @Sendable (CachedURLResponse?) -> Void)
}

/// Keeps responses unchanged, not at all, or changed by a closure.
public struct ResponseCacher: CachedResponseHandler {
  /// The treatment of a response that may be kept.
  public enum Behavior: Sendable {
    /// Keep it.
    case cache
    /// Don't keep it.
    case doNotCache
    /// Keep the closure's result; nil keeps nothing. The closure runs on the session's ``Session/rootQueue`` if there
    /// is one, else on the event loop.
    @preconcurrency
    case modify(@Sendable (TransferTask, CachedURLResponse) -> CachedURLResponse?)
  }

  /// Keeps every response that may be kept, as a session without a handler does.
  public static let cache = ResponseCacher(behavior: .cache)
  /// Keeps no response.
  public static let doNotCache = ResponseCacher(behavior: .doNotCache)

  /// The treatment that this handler applies.
  public let behavior: Behavior

  /// Creates a handler with a behavior.
  public init(behavior: Behavior) {
    self.behavior = behavior
  }

  @preconcurrency
  public func dataTask(
    _ task: TransferTask, willCacheResponse response: CachedURLResponse,
    completion: @escaping @Sendable (CachedURLResponse?) -> Void
  ) {
    switch behavior {
    case .cache: completion(response)
    case .doNotCache: completion(nil)
    case .modify(let change): completion(change(task, response))
    }
  }
}

extension CachedResponseHandler where Self == ResponseCacher {
  /// Keeps every response that may be kept.
  public static var cache: ResponseCacher { .init(behavior: .cache) }
  /// Keeps no response.
  public static var doNotCache: ResponseCacher { .init(behavior: .doNotCache) }

  /// Keeps the closure's result; nil keeps nothing.
  @preconcurrency
  public static func modify(
    using closure: @escaping @Sendable (TransferTask, CachedURLResponse) -> CachedURLResponse?
  ) -> ResponseCacher {
    ResponseCacher(behavior: .modify(closure))
  }
}

/// The result of a cache lookup.
public enum CacheResult: String, Sendable, CaseIterable {
  /// The response came from the cache, and nothing was sent.
  case hit
  /// No stored response could be used.
  case miss
  /// The server confirmed the stored response as unchanged, and the response came from the cache.
  case revalidated
  /// The server was asked for confirmation, and sent a changed response.
  case refreshed
}
