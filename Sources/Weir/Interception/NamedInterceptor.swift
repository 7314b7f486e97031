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
