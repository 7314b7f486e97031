/// Decides how a redirect is handled.
@preconcurrency
public protocol RedirectHandler: Sendable {
  /// Answers with the request to follow, the proposed one or another, or with nil to make the 3xx response final.
  ///
  /// `completion`: It may be called later and on any thread; the transfer waits for it.
  @preconcurrency
  func task(
    _ task: TransferTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
    completion: @escaping @Sendable (URLRequest?) -> Void)
}

/// Follows redirects unchanged, not at all, or changed by a closure.
public struct Redirector: RedirectHandler {
  /// The treatment of a redirect.
  public enum Behavior: Sendable {
    /// Send the proposed request.
    case follow
    /// Deliver the 3xx response, with its body.
    case doNotFollow
    /// Send the closure's result; nil delivers the 3xx response. The closure runs on the session's
    /// ``Session/rootQueue`` if there is one, else on the event loop.
    @preconcurrency
    case modify(@Sendable (TransferTask, URLRequest, HTTPURLResponse) -> URLRequest?)
  }

  /// Follows every redirect, as a session without a handler does.
  public static let follow = Redirector(behavior: .follow)
  /// Follows no redirect.
  public static let doNotFollow = Redirector(behavior: .doNotFollow)

  /// The treatment that this handler applies.
  public let behavior: Behavior

  /// Creates a handler with a behavior.
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
  /// Follows no redirect: the 3xx response is final.
  public static var doNotFollow: Redirector { .init(behavior: .doNotFollow) }

  /// Follows with the closure's result; nil makes the 3xx response final.
  @preconcurrency
  public static func modify(
    using closure: @escaping @Sendable (TransferTask, URLRequest, HTTPURLResponse) -> URLRequest?
  ) -> Redirector {
    Redirector(behavior: .modify(closure))
  }
}
