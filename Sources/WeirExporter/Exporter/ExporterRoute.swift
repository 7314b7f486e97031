/// The page that a request to the exporter asks for.
enum ExporterRoute: Hashable, Sendable {
  case landing
  case metrics
  case healthy
  case ready
  /// A page of the program, by its path.
  case page(String)
  /// An action on the program, by its path.
  case action(String)
  case notFound
  /// The path exists, but the method is neither GET nor HEAD.
  case wrongMethod
  /// The path is one of an action, but the method is neither POST nor PUT.
  case wrongMethodOfAction

  /// - Parameters:
  ///   - path: The path as received; other spellings of a path are other paths.
  ///   - actions: The paths of actions.
  ///   - pages: The paths of the program's pages.
  init(
    method: String, path: String, actions: some Collection<String> = [], pages: some Collection<String> = []
  ) {
    let isRead = method == "GET" || method == "HEAD"
    switch path {
    case "/": self = isRead ? .landing : .wrongMethod
    case "/metrics": self = isRead ? .metrics : .wrongMethod
    case "/-/healthy": self = isRead ? .healthy : .wrongMethod
    case "/-/ready": self = isRead ? .ready : .wrongMethod
    case _ where pages.contains(path): self = isRead ? .page(path) : .wrongMethod
    case _ where actions.contains(path):
      self = method == "POST" || method == "PUT" ? .action(path) : .wrongMethodOfAction
    default: self = .notFound
    }
  }
}
