import WeirHTTP

/// What a request says of the cache, and what follows from that and from what is stored.
struct CacheRules: Sendable {
  enum Decision: Equatable, Sendable {
    /// Ask the server.
    case load
    /// Use what is stored.
    case serve
    /// Ask the server whether that has changed.
    case revalidate
    /// There is nothing, and nobody may be asked.
    case fail
  }

  let policy: URLRequest.CachePolicy
  /// The fields as they go out, by lower-case name.
  let fields: [String: String]
  private let control: CacheControl

  init(policy: URLRequest.CachePolicy, fields: [String: String]) {
    self.policy = policy
    self.fields = fields
    var control = CacheControl(fields["cache-control"])
    if fields["cache-control"] == nil, CacheControl(fields["pragma"]).isNoCache { control.isNoCache = true }
    self.control = control
  }

  /// A request that asks on conditions of its own, for a part, or for what its URL doesn't say, is none of the cache's.
  static let ownQuestions = [
    "host",
    "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range",
  ]

  /// Whether what is stored may matter at all.
  var looksUp: Bool {
    switch policy {
    case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: false
    default: !control.isNoStore
    }
  }

  var mayStore: Bool { !control.isNoStore }

  /// - Parameter entry: One that fits.
  func decide(_ entry: CacheEntry?, now: Double) -> Decision {
    switch policy {
    case .returnCacheDataElseLoad: return entry == nil ? .load : .serve
    case .returnCacheDataDontLoad: return entry == nil ? .fail : .serve
    case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: return .load
    default: break
    }
    guard let entry else { return .load }
    let mayServe = policy != .reloadRevalidatingCacheData && !control.isNoCache
    if mayServe, entry.isFresh(now: now, maximumAge: control.maxAge) { return .serve }
    return entry.conditions.isEmpty ? .load : .revalidate
  }
}
