/// An interceptor that may have been given a name, for metrics and logs.
package protocol NamedInterceptor {
  var name: String? { get }
}

/// An interceptor that leaves URL requests alone, and so do its subclasses: as it has no `adapt` of its own, they have
/// none to override.
package protocol RetryOnlyInterceptor {}

/// An adapter and, if it was given one, its name.
struct NamedAdapter: Sendable {
  let adapter: any RequestAdapter
  let name: String?
}

/// What kinds of adapters there are, found out once per type: casts and names of types cost more than a look-up.
struct AdapterTypes {
  private struct Facts {
    /// Bounded: types are finite, and given names are as many as the program has call sites that give one.
    let name: String
    let isList: Bool
    let isRetryOnly: Bool
    let mayHaveName: Bool
  }

  private var known: [ObjectIdentifier: Facts] = [:]

  /// The adapters behind an interceptor; an `Interceptor` is taken apart, so that each is measured by its own name.
  mutating func adapters(of adapter: any RequestAdapter) -> [NamedAdapter] {
    let facts = facts(of: adapter)
    if facts.isRetryOnly { return [] }
    if facts.isList, let list = adapter as? Interceptor { return list.adapters.flatMap { adapters(of: $0) } }
    return [NamedAdapter(adapter: adapter, name: facts.mayHaveName ? (adapter as? any NamedInterceptor)?.name : nil)]
  }

  /// The name under which an adapter is measured: its given one, else its type's.
  mutating func name(of adapter: NamedAdapter) -> String {
    adapter.name ?? facts(of: adapter.adapter).name
  }

  private mutating func facts(of adapter: any RequestAdapter) -> Facts {
    let type = type(of: adapter)
    if let facts = known[ObjectIdentifier(type)] { return facts }
    let facts = Facts(
      name: String(describing: type), isList: type == Interceptor.self,
      isRetryOnly: adapter is any RetryOnlyInterceptor,
      mayHaveName: adapter is any NamedInterceptor)
    known[ObjectIdentifier(type)] = facts
    return facts
  }
}
