import WeirCurl

/// Which header fields cross the gateway, and which it adds (RFC 9110 §7.6). One per route.
///
/// - What belongs to a connection or to framing ends here, with whatever Connection names.
/// - Via is extended in both directions; a request that already carries this gateway's pseudonym has come in a circle.
/// - Host is the upstream's. What the client sent goes to X-Forwarded-Host and Forwarded (RFC 7239).
/// - X-Forwarded-For and Forwarded are extended; X-Forwarded-Host and -Proto are replaced, since a client could claim
///   anything there. Behind a TLS terminator, a route sets `X-Forwarded-Proto: https`.
/// - The route's own rules come last and win.
struct HeaderPolicy: Sendable {
  /// What the connection tells of a request's sender.
  struct Client {
    /// An IP address without brackets; empty if there is none (a Unix socket).
    var address: [UInt8]
    /// Host and port that the client asked for; empty if it named none.
    var authority: [UInt8]
    var isHTTP10 = false
    /// Whether the method is TRACE or OPTIONS, of which Max-Forwards counts the hops.
    var countsForwards = false
  }

  enum Verdict {
    case forward(HeaderBlock)
    /// The request has been here before: 508.
    case loop
    /// Max-Forwards is used up: the gateway answers itself.
    case finalRecipient
  }

  private let pseudonym: [UInt8]
  private let authority: [UInt8]
  private let set: [(lower: [UInt8], name: [UInt8], value: [UInt8])]
  private let remove: [[UInt8]]

  /// - Parameter pseudonym: names this gateway in Via; a token.
  init(route: Route, pseudonym: String) {
    self.pseudonym = Array(pseudonym.utf8)
    authority = Array(route.upstream.authority.utf8)
    set = route.headers.set.map { (Array($0.name.lowercased().utf8), Array($0.name.utf8), Array($0.value.utf8)) }
    remove = route.headers.remove.map { Array($0.lowercased().utf8) }
  }

  // MARK: Requests

  func request(_ fields: some FieldSource, from client: Client) -> Verdict {
    let options = ConnectionOptions(fields)
    var list = HeaderBlock(reservingBytes: 1024, fields: 24)
    var chains = Chains()
    var isLoop = false
    var isFinal = false
    add("Host", authority, to: &list)
    fields.forEach { name, value in
      if options.contains(name) { return }
      switch FieldKind(name) {
      case .endToEnd: if !isRuled(name) { list.append(name: name, value: value) }
      case .connection, .hopByHop, .host, .forwardedFact: break
      case .via:
        if contains(pseudonym: value) { isLoop = true }
        Chains.extend(&chains.via, with: value)
      case .forwarded: Chains.extend(&chains.forwarded, with: value)
      case .forwardedFor: Chains.extend(&chains.forwardedFor, with: value)
      case .maxForwards:
        guard client.countsForwards, let hops = Self.number(value) else {
          if !isRuled(name) { list.append(name: name, value: value) }
          break
        }
        if hops == 0 { isFinal = true } else { add("Max-Forwards", Array("\(hops - 1)".utf8), to: &list) }
      }
    }
    if isLoop { return .loop }
    if isFinal { return .finalRecipient }
    addOwn(client, chains, to: &list)
    for rule in set {
      rule.name.withUnsafeBytes { name in rule.value.withUnsafeBytes { list.append(name: name, value: $0) } }
    }
    return .forward(list)
  }

  private func addOwn(_ client: Client, _ chains: Chains, to list: inout HeaderBlock) {
    var via = chains.via
    Chains.extend(&via, with: client.isHTTP10 ? Self.http10 : Self.http11)
    via.append(contentsOf: pseudonym)
    add("Via", via, to: &list)
    var forwarded = chains.forwarded
    Chains.extend(&forwarded, with: Self.element(client))
    add("Forwarded", forwarded, to: &list)
    if !client.address.isEmpty {
      var addresses = chains.forwardedFor
      Chains.extend(&addresses, with: client.address)
      add("X-Forwarded-For", addresses, to: &list)
    } else if !chains.forwardedFor.isEmpty {
      add("X-Forwarded-For", chains.forwardedFor, to: &list)
    }
    if !client.authority.isEmpty { add("X-Forwarded-Host", client.authority, to: &list) }
    add("X-Forwarded-Proto", Self.scheme, to: &list)
  }

  /// `for="[2001:db8::1]";host="example.com:8080";proto=http` (RFC 7239 §4).
  private static func element(_ client: Client) -> [UInt8] {
    var element = Array("for=".utf8)
    if client.address.isEmpty {
      element += "unknown".utf8
    } else if client.address.contains(UInt8(ascii: ":")) {
      element += Array("\"[".utf8) + client.address + Array("]\"".utf8)
    } else {
      element += client.address
    }
    if HTTPGrammar.isToken(client.authority) {
      element += Array(";host=".utf8) + client.authority
    } else if !client.authority.isEmpty,
      client.authority.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x5c })
    {
      element += Array(";host=\"".utf8) + client.authority + Array("\"".utf8)
    }
    return element + Array(";proto=http".utf8)
  }

  // MARK: Responses

  /// Calls `emit` with each field that goes to the client; returns what the others say of the body's framing.
  ///
  /// - Parameter isHTTP10: whether the upstream answered in HTTP/1.0.
  @discardableResult
  func response(
    _ fields: some FieldSource, isHTTP10: Bool,
    emit: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
  ) -> ResponseFraming {
    let options = ConnectionOptions(fields)
    var framing = ResponseFraming()
    var via: [UInt8] = []
    fields.forEach { name, value in
      let kind = FieldKind(name)
      if case .hopByHop = kind { return framing.note(name, value) }
      if options.contains(name) { return }
      switch kind {
      case .connection: break
      case .via: Chains.extend(&via, with: value)
      default: emit(name, value)
      }
    }
    Chains.extend(&via, with: isHTTP10 ? Self.http10 : Self.http11)
    via.append(contentsOf: pseudonym)
    Self.viaName.withUnsafeBytes { name in via.withUnsafeBytes { emit(name, $0) } }
    return framing
  }

  // MARK: Pieces

  /// Fields that every hop extends.
  private struct Chains {
    var via: [UInt8] = []
    var forwarded: [UInt8] = []
    var forwardedFor: [UInt8] = []

    /// Several fields of a name are one list (RFC 9110 §5.3).
    static func extend(_ chain: inout [UInt8], with value: some Collection<UInt8>) {
      if value.isEmpty { return }
      if !chain.isEmpty { chain.append(contentsOf: [UInt8(ascii: ","), UInt8(ascii: " ")]) }
      chain.append(contentsOf: value)
    }
  }

  private static let http10 = Array("1.0 ".utf8)
  private static let http11 = Array("1.1 ".utf8)
  private static let scheme = Array("http".utf8)
  private static let viaName = Array("Via".utf8)

  /// A field of the gateway's own, unless the route has a rule about it.
  private func add(_ name: StaticString, _ value: [UInt8], to list: inout HeaderBlock) {
    name.withUTF8Buffer { name in
      let name = UnsafeRawBufferPointer(name)
      if !isRuled(name) { value.withUnsafeBytes { list.append(name: name, value: $0) } }
    }
  }

  private func isRuled(_ name: UnsafeRawBufferPointer) -> Bool {
    if set.isEmpty, remove.isEmpty { return false }
    return set.contains { name.isName($0.lower) } || remove.contains { name.isName($0) }
  }

  /// Whether an element's received-by is this gateway: `1.1 pseudonym`, perhaps with a comment.
  private func contains(pseudonym via: UnsafeRawBufferPointer) -> Bool {
    via.split(separator: UInt8(ascii: ",")).contains { element in
      let words = element.split { $0 == 0x20 || $0 == 0x09 }
      return words.count >= 2 && words[1].elementsEqual(pseudonym)
    }
  }

  private static func number(_ value: UnsafeRawBufferPointer) -> Int? {
    guard !value.isEmpty, value.count <= 9 else { return nil }
    var number = 0
    for byte in value {
      guard byte &- UInt8(ascii: "0") < 10 else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return number
  }
}
