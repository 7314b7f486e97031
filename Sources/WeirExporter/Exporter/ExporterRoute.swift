/// The page that a request to the exporter asks for.
enum ExporterRoute: Hashable, Sendable {
  case landing
  case metrics
  case healthy
  case ready
  case notFound
  /// The path exists, but the method is neither GET nor HEAD.
  case wrongMethod

  /// - Parameter path: The path as received; other spellings of a path are other paths.
  init(method: String, path: String) {
    let isRead = method == "GET" || method == "HEAD"
    switch path {
    case "/": self = isRead ? .landing : .wrongMethod
    case "/metrics": self = isRead ? .metrics : .wrongMethod
    case "/-/healthy": self = isRead ? .healthy : .wrongMethod
    case "/-/ready": self = isRead ? .ready : .wrongMethod
    default: self = .notFound
    }
  }
}
