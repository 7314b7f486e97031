/// Decides what becomes of a redirect.
@preconcurrency
public protocol RedirectHandler: Sendable {
  /// Answers with the request to follow, the proposed one or any other, or nil: then the 3xx response is final.
  ///
  /// `completion`: May be called later and on any thread; the transfer waits for it.
  @preconcurrency
  func task(
    _ task: TransferTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
    completion: @escaping @Sendable (URLRequest?) -> Void)
}

/// Follows, refuses or changes redirects.
public struct Redirector: RedirectHandler {
  /// What is done with a redirect.
  public enum Behavior: Sendable {
    /// Send the proposed request.
    case follow
    /// Deliver the 3xx response, with its body.
    case doNotFollow
    /// Send what the closure makes of the proposed request; nil: deliver the 3xx response. It runs on the session's
    /// ``Session/rootQueue``, else on the event loop.
    @preconcurrency
    case modify(@Sendable (TransferTask, URLRequest, HTTPURLResponse) -> URLRequest?)
  }

  /// Follows every redirect; what a session without a handler does.
  public static let follow = Redirector(behavior: .follow)
  /// Follows none.
  public static let doNotFollow = Redirector(behavior: .doNotFollow)

  /// What this one does.
  public let behavior: Behavior

  /// Takes what is to be done.
  public init(behavior: Behavior) {
    self.behavior = behavior
  }

  @preconcurrency
  public func task(
    _ task: TransferTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
    completion: @escaping @Sendable (URLRequest?) -> Void
  ) {
    switch behavior {
    case .follow: completion(request)
    case .doNotFollow: completion(nil)
    case .modify(let change): completion(change(task, request, response))
    }
  }
}

extension RedirectHandler where Self == Redirector {
  /// Follows every redirect.
  public static var follow: Redirector { .init(behavior: .follow) }
  /// Follows none: the 3xx response is final.
  public static var doNotFollow: Redirector { .init(behavior: .doNotFollow) }

  /// Follows with what the closure makes of the proposed request, or not at all where that is nil.
  @preconcurrency
  public static func modify(
    using closure: @escaping @Sendable (TransferTask, URLRequest, HTTPURLResponse) -> URLRequest?
  ) -> Redirector {
    Redirector(behavior: .modify(closure))
  }
}
