import WeirHTTP

/// The cache directives of a request, and the decision that follows from them and from the stored response.
struct CacheRules: Sendable {
  enum Decision: Equatable, Sendable {
    /// Send the request to the server.
    case load
    /// Use the stored response.
    case serve
    /// Ask the server whether the stored response is still valid.
    case revalidate
    /// Nothing is stored, and the request must not be sent.
    case fail
  }

  let policy: URLRequest.CachePolicy
  /// The fields as they are sent, by lower-case name.
  let fields: [String: String]
  private let control: CacheControl

  init(policy: URLRequest.CachePolicy, fields: [String: String]) {
    self.policy = policy
    self.fields = fields
    var control = CacheControl(fields["cache-control"])
    if fields["cache-control"] == nil, CacheControl(fields["pragma"]).isNoCache { control.isNoCache = true }
    self.control = control
  }

  /// Fields with which a request bypasses the cache: it asks on its own conditions, for a part, or for another host
  /// than the URL's.
  static let ownQuestions = [
    "host",
    "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "range",
  ]

  /// Whether a stored response may be used at all.
  var looksUp: Bool {
    switch policy {
    case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: false
    default: !control.isNoStore
    }
  }

  var mayStore: Bool { !control.isNoStore }

  /// - Parameter entry: A stored response that fits the request.
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

/// The directives of a Cache-Control field that weir obeys (RFC 9111 §5.2).
struct CacheControl: Hashable, Sendable {
  var isNoStore = false
  /// Also true for `no-cache` with field names, which is not told apart.
  var isNoCache = false
  /// Seconds; the least of several, and 0 if one can't be parsed (§4.2.1).
  var maxAge: Double?

  init(_ field: String?) {
    field?.withOctets { octets in
      // An unclosed quotation mark must not hide directives.
      let directives = octets.hasWholeQuotations ? octets.quotedListElements : octets.listElements
      for directive in directives { take(directive) }
    }
  }

  private mutating func take(_ directive: UnsafeRawBufferPointer) {
    let (name, argument) = directive.nameAndValue
    if name.spells("no-store") {
      isNoStore = true
    } else if name.spells("no-cache") {
      isNoCache = true
    } else if name.spells("max-age") {
      maxAge = min(maxAge ?? .infinity, Self.seconds(argument))
    }
  }

  /// A quoted number is a number too (§5.2).
  private static func seconds(_ argument: UnsafeRawBufferPointer?) -> Double {
    let number = argument?.unquoted?.withUnsafeBytes { $0.decimal } ?? argument?.decimal
    return number.map(Double.init) ?? 0
  }
}
