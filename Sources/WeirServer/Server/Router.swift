import WeirHTTP

/// Handlers by method and exact path: 404 for an unknown path, 405 with Allow for another method, HEAD as GET.
package struct Router: RequestHandler {
  package typealias Handler = @Sendable (Exchange) -> Void

  fileprivate struct Route {
    let path: String
    var methods: [(name: String, handler: Handler)]
  }

  private var routes: [Route] = []

  package init() {}

  /// The paths that have a handler, in the order they were given one.
  package var paths: [String] { routes.map(\.path) }

  /// Has `handler` answer `method` on `path`, which is compared as the client sent it, without decoding.
  package mutating func on(_ method: String, _ path: String, _ handler: @escaping Handler) {
    if let index = routes.firstIndex(where: { $0.path == path }) {
      routes[index].methods.append((method, handler))
    } else {
      routes.append(Route(path: path, methods: [(method, handler)]))
    }
  }

  package func handle(_ exchange: Exchange) {
    guard let route = routes.first(where: { exchange.head.isPath($0.path) }) else {
      return exchange.respond(status: 404, text: "not found\n")
    }
    if let handler = route.handler(for: exchange.head) {
      handler(exchange)
    } else {
      exchange.respond(status: 405, fields: ["Allow": route.allowed], text: "method not allowed\n")
    }
  }
}

fileprivate extension Router.Route {
  func handler(for head: RequestHead) -> Router.Handler? {
    if let match = methods.first(where: { head.isMethod($0.name) }) { return match.handler }
    return head.isMethod("HEAD") ? methods.first { $0.name == "GET" }?.handler : nil
  }

  /// RFC 9110 §10.2.1.
  var allowed: String {
    var names = methods.map(\.name)
    if let index = names.firstIndex(of: "GET"), !names.contains("HEAD") { names.insert("HEAD", at: index + 1) }
    return names.joined(separator: ", ")
  }
}
