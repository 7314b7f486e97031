/// What a request to the exporter is for.
enum ExporterRoute: Hashable, Sendable {
  case landing
  case metrics
  case healthy
  case ready
  case notFound
  /// A path that exists, and neither GET nor HEAD.
  case wrongMethod

  /// - Parameter path: as received; other spellings of a path are other paths.
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
