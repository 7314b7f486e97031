/// Facts about the types of interceptors, found out once per type: casts and type names cost more than a lookup.
struct InterceptorTypes {
  private struct Facts {
    /// Bounded: a program has a finite number of types, and as many given names as call sites that give one.
    let name: String
    let isList: Bool
    let adapts: Bool
    let retries: Bool
    let mayHaveName: Bool
    let setsFields: Bool
    let mayBeReady: Bool
  }

  private var known: [ObjectIdentifier: Facts] = [:]

  /// The adapters behind an interceptor. An `Interceptor` is replaced by its members, so that each is measured by its
  /// own name.
  mutating func adapters(of adapter: any RequestAdapter) -> [NamedAdapter] {
    let facts = facts(of: adapter)
    guard facts.adapts else { return [] }
    if facts.isList, let list = adapter as? Interceptor { return list.adapters.flatMap { adapters(of: $0) } }
    return [
      NamedAdapter(
        adapter: adapter, fields: facts.setsFields ? adapter as? any HeaderAdapter : nil,
        ready: facts.mayBeReady ? adapter as? any ReadyAdapter : nil,
        name: (facts.mayHaveName ? (adapter as? any NamedInterceptor)?.name : nil) ?? facts.name)
    ]
  }

  /// The retriers behind an interceptor; empty if there is no retrier to ask.
  mutating func retriers(of retrier: any RequestRetrier) -> [any RequestRetrier] {
    let facts = facts(of: retrier)
    guard facts.retries else { return [] }
    if facts.isList, let list = retrier as? Interceptor { return list.retriers.flatMap { retriers(of: $0) } }
    return [retrier]
  }

  private mutating func facts(of interceptor: any Sendable) -> Facts {
    let type = type(of: interceptor)
    if let facts = known[ObjectIdentifier(type)] { return facts }
    let facts = Facts(
      name: String(describing: type), isList: type == Interceptor.self,
      adapts: !(interceptor is any RetryOnlyInterceptor), retries: !(interceptor is any AdaptOnlyInterceptor),
      mayHaveName: interceptor is any NamedInterceptor, setsFields: interceptor is any HeaderAdapter,
      mayBeReady: interceptor is any ReadyAdapter)
    known[ObjectIdentifier(type)] = facts
    return facts
  }
}

/// An interceptor that may have been given a name, for metrics and logs.
package protocol NamedInterceptor {
  var name: String? { get }
}

/// An interceptor that leaves URL requests alone. That holds for subclasses too: there is no `adapt` method to
/// override.
package protocol RetryOnlyInterceptor {}

/// An interceptor that never retries. That holds for subclasses too: there is no `retry` method to override.
package protocol AdaptOnlyInterceptor {}

/// An adapter and what is known of it.
struct NamedAdapter: Sendable {
  let adapter: any RequestAdapter
  /// The same, if it sets fields alone, or if it may be done with that.
  let fields: (any HeaderAdapter)?
  let ready: (any ReadyAdapter)?
  /// Its name in metrics: the one that it was given, else that of its type.
  let name: String
}

extension NamedAdapter {
  /// The adapted request; nil if the adapter needs the `URLRequest`.
  func adapted(_ hop: HopRequest, using state: RequestAdapterState) -> Result<HopRequest, any Error>? {
    if let fields { return Result { hop.updated(with: try fields.headers(using: state)) } }
    return ready?.readyHeaders(using: state).map { .success(hop.updated(with: $0)) }
  }
}

/// An adapter that may also compress the bodies of uploads, which adapters don't see.
///
/// Once the adapters have run and the body is there, ``[NamedAdapter]/codeUpload(_:data:)`` asks the compressors in the
/// chain. The body is then sent through a `CompressedBody` or a `CompressedInputStream`.
package protocol UploadCompressor: Sendable {
  /// Whether it compresses any uploads; if not, it is not asked.
  var compressesUploads: Bool { get }

  /// The coding for an upload's body; nil leaves it uncompressed. The request fails with an error that is thrown.
  ///
  /// - Parameter data: The body, if it is in memory; the caller's closure then decides about it.
  func coding(ofUpload urlRequest: URLRequest, data: Data?) throws -> RequestCoding?
}

extension [NamedAdapter] {
  /// Whether some of a request's adapters want uploads compressed.
  var compressUploads: Bool { contains { ($0.adapter as? any UploadCompressor)?.compressesUploads == true } }

  /// Asks the compressors among a request's adapters about an upload's body, and sets `Content-Encoding` in the URL
  /// request accordingly.
  ///
  /// - Returns: The coding that the body is sent in; nil if it is sent as it is. A body is compressed once. If several
  ///   compressors want to, the last that replaces the others' `Content-Encoding` decides.
  func codeUpload(_ urlRequest: inout URLRequest, data: Data?) throws -> RequestCoding? {
    var coding: RequestCoding?
    for case let compressor as any UploadCompressor in map(\.adapter) {
      guard let wanted = try compressor.coding(ofUpload: urlRequest, data: data) else { continue }
      urlRequest.setValue(wanted.rawValue, forHTTPHeaderField: "Content-Encoding")
      coding = wanted
    }
    return coding
  }
}
