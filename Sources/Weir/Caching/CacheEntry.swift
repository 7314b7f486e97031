import WeirHTTP

/// What is known of a stored response besides its body, and the rules that say of what use it is (RFC 9111). Times are in
/// seconds since 1970.
struct CacheEntry: Codable, Hashable, Sendable {
  let url: String
  /// By lower-case name.
  var fields: [String: String]
  /// When the request for it was sent, and when its head came.
  private(set) var requested: Double
  private(set) var received: Double
  /// Of the request's fields that the response varies by the digests, since they may be secrets; nil: it had no such field.
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

  /// §3, but for what the request says. Of what varies by anything nobody could tell whether it fits.
  static func mayStore(status: Int, fields: [String: String]) -> Bool {
    status == 200 && !CacheControl(fields["cache-control"]).isNoStore && !varying(fields["vary"]).contains("*")
  }

  /// Whether a request with such fields, by lower-case name, would have got it (§4.1).
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

  /// §4.2: whether it may be used without asking, and, where the request limits that, is not older than it may be.
  func isFresh(now: Double, maximumAge: Double? = nil) -> Bool {
    !CacheControl(fields["cache-control"]).isNoCache && age(now) < min(lifetime, maximumAge ?? .infinity)
  }

  /// §4.2.1; nothing is guessed where the response doesn't say.
  var lifetime: Double {
    if let maxAge = CacheControl(fields["cache-control"]).maxAge { return maxAge }
    guard let expires = fields["expires"], let end = time(expires) else { return 0 }
    return end - date
  }

  /// §4.2.3.
  func age(_ now: Double) -> Double {
    let apparent = max(0, received - date)
    let corrected = announcedAge + max(0, received - requested)
    return max(apparent, corrected) + max(0, now - received)
  }

  private var date: Double { fields["date"].flatMap(time) ?? received }

  /// §5.1: of several the first; one that can't be read says nothing.
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

  /// §4.3.1: the fields of the question; none: it can't be asked. What can't be sent was no validator.
  var conditions: [(name: String, value: String)] {
    var conditions: [(name: String, value: String)] = []
    if let tag = fields["etag"] { conditions.append(("If-None-Match", tag)) }
    if let date = fields["last-modified"] { conditions.append(("If-Modified-Since", date)) }
    return conditions.filter { FieldSyntax.isSendable($0.value) }
  }

  /// §4.3.4: whether a 304 with such fields is about this response. A strong tag has to be the same, a weak one to match; where
  /// there is none, the date.
  func isConfirmed(by fields: [String: String]) -> Bool {
    if let new = fields["etag"] {
      guard let own = self.fields["etag"] else { return false }
      return new.hasPrefix("W/") ? Self.opaque(new) == Self.opaque(own) : new == own
    }
    guard let new = fields["last-modified"], let own = self.fields["last-modified"] else { return true }
    return new == own
  }

  /// The tag without the mark of a weak one.
  private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

  /// §3.2: what a 304 says replaces what was there, but for what is about the stored body, or about the connection.
  ///
  /// - Parameter request: The fields of the request that it answers.
  mutating func update(with fields: [String: String], request: [String: String], requested: Double, received: Double) {
    for (name, value) in fields where !Self.isOfTheBody(name) { self.fields[name] = value }
    // What the 304 doesn't say again was true of the older response.
    if fields["age"] == nil { self.fields["age"] = nil }
    if fields["date"] == nil { self.fields["date"] = nil }
    (self.requested, self.received) = (requested, received)
    selecting = Self.selecting(of: request, by: self.fields)
  }

  /// As the caller has changed the response.
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
