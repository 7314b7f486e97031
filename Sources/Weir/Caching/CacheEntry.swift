import WeirHTTP

/// A stored response except for its body, and the rules that decide when it may be used (RFC 9111). Times are in
/// seconds since 1970.
struct CacheEntry: Codable, Hashable, Sendable {
  let url: String
  /// Keyed by lower-case name.
  var fields: [String: String]
  /// When the request was sent; `received` is when the response's head came.
  private(set) var requested: Double
  private(set) var received: Double
  /// Digests of the request's fields that `Vary` names, since their values may be secrets; nil: the request had no such
  /// field.
  private(set) var selecting: [String: String?]
  /// Whether the body is stored without its content coding.
  let isDecoded: Bool

  init(
    url: String, fields: [String: String], requested: Double, received: Double, request: [String: String],
    isDecoded: Bool
  ) {
    self.url = url
    self.fields = fields
    self.requested = requested
    self.received = received
    self.isDecoded = isDecoded
    selecting = Self.selecting(of: request, by: fields)
  }

  // MARK: Whether it may be stored and used

  /// Whether a response may be stored (§3), apart from the request's own directives. With `Vary: *` it never fits
  /// another request.
  static func mayStore(status: Int, fields: [String: String]) -> Bool {
    status == 200 && !CacheControl(fields["cache-control"]).isNoStore && !varying(fields["vary"]).contains("*")
  }

  /// Whether a request with these fields, by lower-case name, would have got this response (§4.1).
  func fits(url: String, request: [String: String], isDecoded: Bool) -> Bool {
    self.url == url && self.isDecoded == isDecoded && selecting.allSatisfy { Self.digest(request[$0.key]) == $0.value }
  }

  private static func selecting(of request: [String: String], by fields: [String: String]) -> [String: String?] {
    varying(fields["vary"]).reduce(into: [:]) { $0[$1] = .some(digest(request[$1])) }
  }

  private static func digest(_ value: String?) -> String? { value.map { SHA256.hexadecimal(of: Array($0.utf8)) } }

  private static func varying(_ field: String?) -> Set<String> {
    guard let field else { return [] }
    return field.withOctets { octets in
      Set(octets.listElements.lazy.filter { !$0.isEmpty }.map { FieldSyntax.lowercased($0) })
    }
  }

  // MARK: How old it is

  /// §4.2: whether the response may be used without revalidation. `maximumAge` is the age that the request allows, if
  /// it says so.
  func isFresh(now: Double, maximumAge: Double? = nil) -> Bool {
    !CacheControl(fields["cache-control"]).isNoCache && age(now) < min(lifetime, maximumAge ?? .infinity)
  }

  /// §4.2.1; without explicit information no heuristic lifetime is used.
  var lifetime: Double {
    if let maxAge = CacheControl(fields["cache-control"]).maxAge { return maxAge }
    guard let expires = fields["expires"], let end = time(expires) else { return 0 }
    return end - date
  }

  /// §4.2.3: the age of the response in seconds.
  func age(_ now: Double) -> Double {
    let apparent = max(0, received - date)
    let corrected = announcedAge + max(0, received - requested)
    return max(apparent, corrected) + max(0, now - received)
  }

  private var date: Double { fields["date"].flatMap(time) ?? received }

  /// §5.1: the first of several values; one that can't be parsed counts as 0.
  private var announcedAge: Double {
    fields["age"]?.withOctets { octets in
      var elements = octets.listElements
      return elements.next()?.decimal.map(Double.init)
    } ?? 0
  }

  private func time(_ text: String) -> Double? {
    HTTPDate.parse(text, now: Int(clamping: Int64(min(max(received, 0), 1e15)))).map(Double.init)
  }

  // MARK: Asking whether it has changed

  /// §4.3.1: the fields of a conditional request; empty if the response can't be revalidated. A validator that can't be
  /// sent is left out.
  var conditions: [(name: String, value: String)] {
    var conditions: [(name: String, value: String)] = []
    if let tag = fields["etag"] { conditions.append(("If-None-Match", tag)) }
    if let date = fields["last-modified"] { conditions.append(("If-Modified-Since", date)) }
    return conditions.filter { FieldSyntax.isSendable($0.value) }
  }

  /// §4.3.4: whether a 304 with these fields is about this response. Strong entity tags have to be the same, weak ones
  /// to match. Without an entity tag the dates are compared.
  func isConfirmed(by fields: [String: String]) -> Bool {
    if let new = fields["etag"] {
      guard let own = self.fields["etag"] else { return false }
      return new.hasPrefix("W/") ? Self.opaque(new) == Self.opaque(own) : new == own
    }
    guard let new = fields["last-modified"], let own = self.fields["last-modified"] else { return true }
    return new == own
  }

  /// The entity tag without the prefix of a weak one.
  private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

  /// §3.2: the fields of a 304 replace the stored ones, except for those that describe the stored body or the
  /// connection.
  ///
  /// - Parameter request: The fields of the request that the 304 answers.
  mutating func update(with fields: [String: String], request: [String: String], requested: Double, received: Double) {
    for (name, value) in fields where !Self.isOfTheBody(name) { self.fields[name] = value }
    // If the 304 doesn't repeat these fields, their values belonged to the older response.
    if fields["age"] == nil { self.fields["age"] = nil }
    if fields["date"] == nil { self.fields["date"] = nil }
    (self.requested, self.received) = (requested, received)
    selecting = Self.selecting(of: request, by: self.fields)
  }

  /// Replaces the fields by those of the caller's changed response.
  mutating func replaceFields(_ fields: [String: String], request: [String: String]) {
    self.fields = fields
    selecting = Self.selecting(of: request, by: fields)
  }

  static func isOfTheBody(_ name: String) -> Bool {
    name.hasPrefix("content-")
      || [
        "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "transfer-encoding",
        "upgrade", "set-cookie",
      ].contains(name)
  }
}
