public import FoundationNetworking

/// Decides what becomes of a redirect.
@preconcurrency
public protocol RedirectHandler: Sendable {
  /// Answers with the request to follow, the proposed one or any other, or nil: then the 3xx response is final.
  ///
  /// - Parameter completion: May be called later and on any thread; the transfer waits for it.
  @preconcurrency
  func task(
    _ task: TransferTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
    completion: @escaping @Sendable (URLRequest?) -> Void)
}

/// Follows, refuses or changes redirects.
public struct Redirector: RedirectHandler {
  public enum Behavior: Sendable {
    case follow
    case doNotFollow
    @preconcurrency
    case modify(@Sendable (TransferTask, URLRequest, HTTPURLResponse) -> URLRequest?)
  }

  public static let follow = Redirector(behavior: .follow)
  public static let doNotFollow = Redirector(behavior: .doNotFollow)

  public let behavior: Behavior

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
  public static var follow: Redirector { .init(behavior: .follow) }
  public static var doNotFollow: Redirector { .init(behavior: .doNotFollow) }

  @preconcurrency
  public static func modify(
    using closure: @escaping @Sendable (TransferTask, URLRequest, HTTPURLResponse) -> URLRequest?
  ) -> Redirector {
    Redirector(behavior: .modify(closure))
  }
}
