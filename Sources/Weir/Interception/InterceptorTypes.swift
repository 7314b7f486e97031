/// Facts about the types of interceptors, found out once per type: casts and type names cost more than a lookup.
struct InterceptorTypes {
  private struct Facts {
    /// Bounded: a program has a finite number of types, and as many given names as call sites that give one.
    let name: String
    let isList: Bool
    let adapts: Bool
    let retries: Bool
    let mayHaveName: Bool
  }

  private var known: [ObjectIdentifier: Facts] = [:]

  /// The adapters behind an interceptor. An `Interceptor` is replaced by its members, so that each is measured by its
  /// own name.
  mutating func adapters(of adapter: any RequestAdapter) -> [NamedAdapter] {
    let facts = facts(of: adapter)
    guard facts.adapts else { return [] }
    if facts.isList, let list = adapter as? Interceptor { return list.adapters.flatMap { adapters(of: $0) } }
    return [NamedAdapter(adapter: adapter, name: facts.mayHaveName ? (adapter as? any NamedInterceptor)?.name : nil)]
  }

  /// The retriers behind an interceptor; empty if there is no retrier to ask.
  mutating func retriers(of retrier: any RequestRetrier) -> [any RequestRetrier] {
    let facts = facts(of: retrier)
    guard facts.retries else { return [] }
    if facts.isList, let list = retrier as? Interceptor { return list.retriers.flatMap { retriers(of: $0) } }
    return [retrier]
  }

  /// The adapter's name in metrics: its given name, else the name of its type.
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
