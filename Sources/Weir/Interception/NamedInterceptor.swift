/// An interceptor that may have been given a name, for metrics and logs.
package protocol NamedInterceptor {
  var name: String? { get }
}

/// An interceptor that leaves URL requests alone, and so do its subclasses: as it has no `adapt` of its own, they have
/// none to override.
package protocol RetryOnlyInterceptor {}

/// An interceptor that never retries, nor do its subclasses, for the same reason.
package protocol AdaptOnlyInterceptor {}

/// An adapter and, if it was given one, its name.
struct NamedAdapter: Sendable {
  let adapter: any RequestAdapter
  let name: String?
}
