/// Decides what is kept in ``SessionConfiguration/urlCache``.
@preconcurrency
public protocol CachedResponseHandler: Sendable {
  /// Answers with the response to keep, the proposed one or any other, or nil: then none is kept. `completion` may be called
  /// later and on any thread; the task's completion waits for it.
  @preconcurrency
  func dataTask(
    _ task: TransferTask, willCacheResponse response: CachedURLResponse,
    completion: @escaping @Sendable (CachedURLResponse?) -> Void)
}

/// Keeps responses, or not, or changed.
public struct ResponseCacher: CachedResponseHandler {
  /// What is done with a response that may be kept.
  public enum Behavior: Sendable {
    /// Keep it.
    case cache
    /// Don't.
    case doNotCache
    /// Keep what the closure makes of it; nil: nothing. It runs on the session's ``Session/rootQueue``, else on the event
    /// loop.
    @preconcurrency
    case modify(@Sendable (TransferTask, CachedURLResponse) -> CachedURLResponse?)
  }

  /// Keeps every response that may be kept; what a session without a handler does.
  public static let cache = ResponseCacher(behavior: .cache)
  /// Keeps none.
  public static let doNotCache = ResponseCacher(behavior: .doNotCache)

  /// What this one does.
  public let behavior: Behavior

  /// Takes what is to be done.
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
  /// Keeps none.
  public static var doNotCache: ResponseCacher { .init(behavior: .doNotCache) }

  /// Keeps what the closure makes of a response, or nothing where that is nil.
  @preconcurrency
  public static func modify(
    using closure: @escaping @Sendable (TransferTask, CachedURLResponse) -> CachedURLResponse?
  ) -> ResponseCacher {
    ResponseCacher(behavior: .modify(closure))
  }
}

/// What a look into the cache came to.
public enum CacheResult: String, Sendable, CaseIterable {
  /// The response came from the cache, and nothing was sent.
  case hit
  /// There was none that could be used.
  case miss
  /// The server was asked whether it has changed: it had not, and the response came from the cache.
  case revalidated
  /// It had.
  case refreshed
}
