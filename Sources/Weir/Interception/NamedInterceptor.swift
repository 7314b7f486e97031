/// An interceptor that may have been given a name, for metrics and logs.
package protocol NamedInterceptor {
  var name: String? { get }
}

/// The name under which an adapter is measured: its given one, else its type's.
///
/// Bounded: types are finite, and given names are as many as the program has call sites that give one.
package func adapterName(_ adapter: any RequestAdapter) -> String {
  (adapter as? any NamedInterceptor)?.name ?? String(describing: type(of: adapter))
}

/// An interceptor whose type never changes a request, so that nothing need be asked of it before sending.
package protocol RetryOnlyInterceptor {}

/// The adapters that an adapter stands for, in order: a plain ``Interceptor`` unfolds into its members, so that each
/// is measured under its own name; one that only retries is left out. A subclass stands for itself.
package func adapterSteps(_ adapter: any RequestAdapter) -> [any RequestAdapter] {
  if adapter is any RetryOnlyInterceptor { return [] }
  guard let interceptor = adapter as? Interceptor, type(of: interceptor) == Interceptor.self else { return [adapter] }
  return interceptor.adapters.flatMap(adapterSteps)
}
