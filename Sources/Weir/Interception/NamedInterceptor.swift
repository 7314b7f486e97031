/// An interceptor that may have been given a name, for metrics and logs.
package protocol NamedInterceptor {
  var name: String? { get }
}

/// An interceptor that leaves URL requests alone. That holds for subclasses too: there is no `adapt` method to
/// override.
package protocol RetryOnlyInterceptor {}

/// An interceptor that never retries. That holds for subclasses too: there is no `retry` method to override.
package protocol AdaptOnlyInterceptor {}

/// An adapter with the name that it was given, if any.
struct NamedAdapter: Sendable {
  let adapter: any RequestAdapter
  let name: String?
}
