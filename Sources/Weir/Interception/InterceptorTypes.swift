/// What kinds of interceptors there are, found out once per type: casts and names of types cost more than a look-up.
struct InterceptorTypes {
  private struct Facts {
    /// Bounded: types are finite, and given names are as many as the program has call sites that give one.
    let name: String
    let isList: Bool
    let adapts: Bool
    let retries: Bool
    let mayHaveName: Bool
  }

  private var known: [ObjectIdentifier: Facts] = [:]

  /// The adapters behind an interceptor; an `Interceptor` is taken apart, so that each is measured by its own name.
  mutating func adapters(of adapter: any RequestAdapter) -> [NamedAdapter] {
    let facts = facts(of: adapter)
    guard facts.adapts else { return [] }
    if facts.isList, let list = adapter as? Interceptor { return list.adapters.flatMap { adapters(of: $0) } }
    return [NamedAdapter(adapter: adapter, name: facts.mayHaveName ? (adapter as? any NamedInterceptor)?.name : nil)]
  }

  /// The retriers behind an interceptor; none means that nobody was asked.
  mutating func retriers(of retrier: any RequestRetrier) -> [any RequestRetrier] {
    let facts = facts(of: retrier)
    guard facts.retries else { return [] }
    if facts.isList, let list = retrier as? Interceptor { return list.retriers.flatMap { retriers(of: $0) } }
    return [retrier]
  }

  /// The name under which an adapter is measured: its given one, else its type's.
  mutating func name(of adapter: NamedAdapter) -> String {
    adapter.name ?? facts(of: adapter.adapter).name
  }

  private mutating func facts(of interceptor: any Sendable) -> Facts {
    let type = type(of: interceptor)
    if let facts = known[ObjectIdentifier(type)] { return facts }
    let facts = Facts(
      name: String(describing: type), isList: type == Interceptor.self,
      adapts: !(interceptor is any RetryOnlyInterceptor), retries: !(interceptor is any AdaptOnlyInterceptor),
      mayHaveName: interceptor is any NamedInterceptor)
    known[ObjectIdentifier(type)] = facts
    return facts
  }
}
