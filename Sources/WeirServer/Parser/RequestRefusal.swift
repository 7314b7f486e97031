/// Why a request is refused before a handler sees it.
package struct RequestRefusal: Error, Hashable, Sendable {
  package let status: Int
  /// For logs; fixed text, nothing of the request.
  package let reason: String
}
