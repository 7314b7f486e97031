import WeirCurl
import WeirHTTP
import WeirServer
import WeirTransport

/// Decides which header fields cross the gateway, and which it adds (RFC 9110 §7.6). One per route.
///
/// - Fields that belong to a connection or to framing end here, with all fields that Connection names.
/// - Via is extended in both directions. A request that already carries this gateway's pseudonym has come in a loop.
/// - Host is the upstream's, unless the route says otherwise. The client's value goes to X-Forwarded-Host.
/// - X-Forwarded-For is extended; X-Forwarded-Host and -Proto are replaced, since a client could claim anything there.
///   The proto is the listener's; behind a TLS terminator, a route sets `X-Forwarded-Proto: https`. Where the listener
///   names its trusted proxies, theirs pass, and all such fields of others are dropped.
/// - X-Retry-Attempt is one number: how often others tried the request, by that field or Envoy's.
/// - Forwarded (RFC 7239) is extended if an earlier hop uses it, and not begun here, since it would only repeat the
///   other fields.
/// - The route's own rules come last and win.
/// - A name that reads like that of a field which is written, removed or believed here goes the way of neither: it ends
///   here, since a CGI program makes one variable of both, and may read the wrong one.
final class HeaderPolicy: Sendable {
  /// The facts about a request's sender that the connection knows. The bytes are valid during the call.
  struct Client {
    /// An IP address without brackets; empty if there is none (a Unix socket).
    var address: UnsafeRawBufferPointer
    /// The host and port that the client asked for; empty if it named none.
    var authority: UnsafeRawBufferPointer
    var trust = ForwardingTrust.unstated
    /// What else the connection says; nil if that is nothing.
    var facts: ClientFacts?
    /// The name of the listener.
    var listener: [UInt8] = []
    var isHTTP10 = false
    /// The request's identifiers; nil without any.
    var ids: CorrelationIDs?
    /// Whether the method is TRACE or OPTIONS, whose hops Max-Forwards counts.
    var countsForwards = false
  }

  enum Verdict {
    /// - retries: the number of retries before the request came, as its fields say.
    case forward(HeaderBlock, retries: Int, SchedulingHints)
    /// The request has been here before: 508.
    case loop
    /// Max-Forwards is used up, so the gateway answers itself.
    case finalRecipient
  }

  private let pseudonym: [UInt8]
  /// This gateway's elements of Via, for messages received in HTTP/1.1 and in 1.0.
  private let via: (http11: [UInt8], http10: [UInt8])
  /// Fields that every request gets before all others.
  private let first: HeaderBlock
  /// Fields that every request gets behind all others: with the scheme, or without it where a trusted proxy tells it.
  private let last: LastFields
  /// Fields of the route's rules whose values depend on the request.
  private let made: [FieldTemplate]
  /// Whether the client's Host goes to the upstream.
  private let sendsClientsHost: Bool
  /// The Host in place of a bad one of the client; nil for that of the endpoint, which the transfer's URL has.
  private let hostInNeed: String?
  /// The names of fields that the route sets, removes or keeps for itself, in lower case.
  private let ruled: [[UInt8]]
  /// Whether the gateway announces its own retries. It does unless the route has a rule about the field.
  let announcesRetries: Bool
  /// The names, in lower case, of further fields that the configuration goes by.
  private let believed: [[UInt8]]
  let responseRules: ResponseRules
  /// Whether the gateway puts each attempt into the request's trace. It does unless the route has a rule about the field.
  let announcesTraces: Bool
  let announcesTraceState: Bool
  private let announcesRequestID: Bool
  /// Which identifiers requests get; nil for none.
  private let ids: CorrelationSettings?
  /// Whether the identifier of a request is one of them: kept apart, as it is asked for with each field.
  private let replacesRequestID: Bool

  /// - Parameters:
  ///   - credential: The name of the field that the route's credential writes; nil without one.
  ///   - upstream: The upstream of the route.
  ///   - host: The Host that an entry of `upstreams` asks for; nil for the endpoint's own.
  ///   - pseudonym: The name of this gateway in Via; a token.
  ///   - ids: Which identifiers requests get; nil for none.
  ///   - believed: The names, in lower case, of fields that the configuration goes by.
  init(
    route: Route, upstream: Upstream, host: HostRewrite? = nil, pseudonym: String, ids: CorrelationSettings? = nil,
    believed: [[UInt8]] = [], credential: [UInt8]? = nil
  ) {
    let rules = route.headers.leavingOut(credential)
    // Credentials for the route are none of the upstream's business.
    let credentials = route.auth?.takesAuthorization == true ? ["Authorization"] : []
    let own = (rules.set.map(\.name) + rules.remove + credentials).map { Array(FieldSyntax.lowercased($0).utf8) }
    let ruled = own + (credential.map { [$0.map(\.lowercased)] } ?? [])
    var first = HeaderBlock()
    var last = LastFields()
    let rewrite = route.rewriteHost ?? host
    let authority = upstream.isNamed ? nil : upstream.authority
    let text = if case .text(let text)? = rewrite { text } else { authority }
    if let text, rewrite != .client, !Self.has(ruled, "host") { first.append(name: "Host", value: text) }
    sendsClientsHost = rewrite == .client && !Self.has(ruled, "host")
    hostInNeed = authority
    if !Self.has(ruled, "x-forwarded-proto") {
      last.http.append(name: "X-Forwarded-Proto", value: "http")
      last.https.append(name: "X-Forwarded-Proto", value: "https")
    }
    var made: [FieldTemplate] = []
    // Secrets are added to each attempt (``SecretFields``).
    for rule in rules.set + rules.add where rule.secret == nil {
      let template = FieldTemplate(rule, route: route.name)
      guard let value = template.fixedValue else {
        made.append(template)
        continue
      }
      template.name.withUnsafeBytes { name in
        value.withUnsafeBytes {
          last.http.append(name: name, value: $0)
          last.https.append(name: name, value: $0)
          last.schemeless.append(name: name, value: $0)
        }
      }
    }
    self.made = made
    responseRules = ResponseRules(route)
    self.pseudonym = Array(pseudonym.utf8)
    self.ruled = ruled
    announcesRetries = !Self.has(ruled, AttemptHeader.standard.name)
    let named = ruled + rules.add.map { Array(FieldSyntax.lowercased($0.name).utf8) }
    announcesTraces = !Self.has(named, "traceparent")
    announcesTraceState = !Self.has(named, "tracestate")
    announcesRequestID = ids.map { !Self.has(named, String(decoding: $0.header, as: UTF8.self)) } ?? false
    self.believed = believed
    self.ids = ids
    replacesRequestID = ids?.hasRequestID == true
    self.first = first
    self.last = last
    via = (Array("1.1 \(pseudonym)".utf8), Array("1.0 \(pseudonym)".utf8))
  }

  // MARK: Requests

  func request(_ fields: some FieldSource, from client: Client) -> Verdict {
    let options = ConnectionOptions(fields)
    var list = HeaderBlock(reservingBytes: HeaderBlock.usualSize)
    var chains = Chains()
    var isLoop = false
    var isFinal = false
    var retries = 0
    var hints = SchedulingHints()
    list.append(contentsOf: first)
    if sendsClientsHost { addHost(of: client, to: &list) }
    fields.forEach { name, value in
      if options.contains(name) { return }
      if client.trust != .unstated, client.trust.drops(name) { return }
      if let facts = client.facts, facts.reserves(name) { return }
      switch FieldKind(name) {
      case .endToEnd:
        if replacesRequestID, let ids, ids.isRequestID(name) { return }
        // The server's parser has checked the field.
        if !isRuled(name), !readsLikeBelieved(name) { list.append(name: name, value: value, isChecked: true) }
      case .connection, .hopByHop, .host, .disguised: break
      case .forwardedFact:
        guard client.trust == .trusted, !isRuled(name), !value.isEmpty else { break }
        let isScheme = name.spells("x-forwarded-proto")
        if isScheme ? chains.hasScheme : chains.hasHost { break }
        if isScheme { chains.hasScheme = true } else { chains.hasHost = true }
        list.append(name: name, value: value)
      case .retryAttempt: retries = max(retries, AttemptHeader.count(value))
      case .envoyAttempt:
        // Envoy's field counts the first attempt as 1.
        retries = max(retries, AttemptHeader.count(value) - 1)
        passOn(name, value, to: &list)
      case .priority:
        hints.urgency = Urgency.parse(value) ?? hints.urgency
        passOn(name, value, to: &list)
      case .grpcTimeout:
        hints.note(timeout: SchedulingHints.grpcTimeout(value))
        passOn(name, value, to: &list)
      case .envoyTimeout:
        hints.note(timeout: SchedulingHints.envoyTimeout(value))
        passOn(name, value, to: &list)
      // Each attempt may get fields of its own.
      case .trace: if client.ids?.passesTraceOn != false { passOn(name, value, to: &list) }
      case .via:
        if contains(pseudonym: value) { isLoop = true }
        Chains.extend(&chains.via, with: value)
      // An open quotation would swallow the element that is appended.
      case .forwarded: if value.hasWholeQuotations { Chains.extend(&chains.forwarded, with: value) }
      case .forwardedFor: Chains.extend(&chains.forwardedFor, with: value)
      case .maxForwards:
        // No number of hops has more digits.
        guard client.countsForwards, value.count <= 9, let hops = value.decimal else {
          passOn(name, value, to: &list)
          break
        }
        if hops == 0 { isFinal = true } else { add("Max-Forwards", Array("\(hops - 1)".utf8), to: &list) }
      }
    }
    if isLoop { return .loop }
    if isFinal { return .finalRecipient }
    addOwn(client, chains, to: &list)
    if retries > 0 { add("X-Retry-Attempt", Array("\(retries)".utf8), to: &list) }
    if let facts = client.facts { add(facts, to: &list) }
    if replacesRequestID, announcesRequestID, let requestID = client.ids?.requestID, let name = ids?.header {
      name.withUnsafeBytes { name in requestID.withUnsafeBytes { list.append(name: name, value: $0) } }
    }
    if chains.hasScheme {
      list.append(contentsOf: last.schemeless)
    } else if client.facts?.isSecure == true {
      list.append(contentsOf: last.https)
    } else {
      list.append(contentsOf: last.http)
    }
    if !made.isEmpty { addMade(client, to: &list) }
    return .forward(list, retries: retries, hints)
  }

  /// Forwards a field that was read here, unless the route has a rule about it.
  private func passOn(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, to list: inout HeaderBlock
  ) {
    if !isRuled(name) { list.append(name: name, value: value) }
  }

  private func addOwn(_ client: Client, _ chains: Chains, to list: inout HeaderBlock) {
    add("Via", chains.via, client.isHTTP10 ? via.http10 : via.http11, to: &list)
    if !chains.forwarded.isEmpty { add("Forwarded", chains.forwarded, Self.element(client), to: &list) }
    if client.address.isEmpty {
      if !chains.forwardedFor.isEmpty { add("X-Forwarded-For", chains.forwardedFor, to: &list) }
    } else if chains.forwardedFor.isEmpty {
      add("X-Forwarded-For", client.address, to: &list)
    } else {
      add("X-Forwarded-For", chains.forwardedFor, Array(client.address), to: &list)
    }
    if !client.authority.isEmpty, !chains.hasHost { add("X-Forwarded-Host", client.authority, to: &list) }
  }

  private func add(_ facts: ClientFacts, to list: inout HeaderBlock) {
    for field in facts.fields {
      field.name.withUnsafeBytes { name in
        if !isRuled(name) { field.value.withUnsafeBytes { list.append(name: name, value: $0) } }
      }
    }
  }

  /// Adds the client's Host. If that names no host, or several, the upstream's own is sent.
  private func addHost(of client: Client, to list: inout HeaderBlock) {
    let authority = client.authority.bindMemory(to: UInt8.self).span
    let isHost = RequestAuthority.hostLength(authority) > 0 && authority.firstIndex(of: .comma) == nil
    "Host".withOctets { name in
      if isHost {
        list.append(name: name, value: client.authority)
      } else {
        hostInNeed?.withOctets { list.append(name: name, value: $0) }
      }
    }
  }

  private func addMade(_ client: Client, to list: inout HeaderBlock) {
    let facts = FieldTemplate.Facts(
      address: client.address, authority: client.authority, listener: client.listener,
      isSecure: client.facts?.isSecure == true)
    for template in made {
      template.name.withUnsafeBytes { name in
        template.value(facts).withUnsafeBytes { list.append(name: name, value: $0) }
      }
    }
  }

  /// The element for a client: `for="[2001:db8::1]";host="example.com:8080";proto=http` (RFC 7239 §4).
  private static func element(_ client: Client) -> [UInt8] {
    var element = Array("for=".utf8)
    if client.address.isEmpty {
      element += "unknown".utf8
    } else if client.address.contains(UInt8(ascii: ":")) {
      element += Array("\"[".utf8) + client.address + Array("]\"".utf8)
    } else {
      element += client.address
    }
    if FieldSyntax.isToken(client.authority) {
      element += Array(";host=".utf8) + client.authority
    } else if !client.authority.isEmpty,
      client.authority.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x5c })
    {
      element += Array(";host=\"".utf8) + client.authority + Array("\"".utf8)
    }
    return element + Array((client.facts?.isSecure == true ? ";proto=https" : ";proto=http").utf8)
  }

  // MARK: Responses

  /// Adds to `result` the fields that go to the client, apart from those that the route's rules add. Returns the facts in
  /// the other fields about the body's framing.
  ///
  /// - Parameter isHTTP10: whether the upstream answered in HTTP/1.0.
  func response(
    _ fields: some FieldSource, isHTTP10: Bool, to result: inout WeirServer.ResponseFields
  ) -> Reframing {
    let options = ConnectionOptions(fields)
    var framing = Reframing()
    var chain: [UInt8] = []
    fields.forEachLine { name, value, plain in
      let kind = FieldKind(name)
      if case .hopByHop = kind { return framing.note(name, value) }
      if name.count == 12, name.spells("content-type") { framing.note(type: value) }
      if options.contains(name) || responseRules.drops(name) { return }
      if replacesRequestID, let ids, ids.isRequestID(name) { return }
      switch kind {
      case .connection: break
      case .via: Chains.extend(&chain, with: value)
      default:
        if plain.isEmpty { result.add(name: name, value: value) } else { result.add(name: name, inLine: plain) }
      }
    }
    let own = isHTTP10 ? via.http10 : via.http11
    if !chain.isEmpty { Chains.extend(&chain, with: own) }
    Self.viaName.withUnsafeBytes { name in
      (chain.isEmpty ? own : chain).withUnsafeBytes { _ = result.add(name: name, value: $0) }
    }
    return framing
  }

  /// Adds the Upgrade fields of a response that must have them, 101 and 426 (RFC 9110 §7.8, §15.5.22). They hold for one
  /// connection, as all that the protocols need of the gateway is to let them through.
  func addUpgrade(of head: ResponseHead, to result: inout WeirServer.ResponseFields) {
    head.forEach { name, value in
      if name.count == 7, name.spells("upgrade"), !responseRules.drops(name) { result.add(name: name, value: value) }
    }
  }

  // MARK: Pieces

  /// Fields that every hop extends.
  private struct Chains {
    var via: [UInt8] = []
    var forwarded: [UInt8] = []
    var forwardedFor: [UInt8] = []
    /// Whether a trusted proxy has told of the client's Host and scheme.
    var hasHost = false
    var hasScheme = false

    /// Appends a value. Several fields of one name are one list (RFC 9110 §5.3).
    static func extend(_ chain: inout [UInt8], with value: some Collection<UInt8>) {
      if value.isEmpty { return }
      if !chain.isEmpty { chain.append(contentsOf: [UInt8(ascii: ","), UInt8(ascii: " ")]) }
      chain.append(contentsOf: value)
    }
  }

  /// Not a tuple, of which all parts would be copied to get at one.
  private struct LastFields {
    var http = HeaderBlock()
    var https = HeaderBlock()
    var schemeless = HeaderBlock()
  }

  private static let viaName = Array("Via".utf8)

  /// Adds a field of the gateway's own, unless the route has a rule about it. Its value is written here or was part of a
  /// head that the server has checked.
  private func add(_ name: StaticString, _ value: UnsafeRawBufferPointer, to list: inout HeaderBlock) {
    let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    if !isRuled(name) { list.append(name: name, value: value, isChecked: true) }
  }

  private func add(_ name: StaticString, _ value: [UInt8], to list: inout HeaderBlock) {
    value.withUnsafeBytes { add(name, $0, to: &list) }
  }

  /// Adds a chain with `own` at its end.
  private func add(_ name: StaticString, _ chain: [UInt8], _ own: [UInt8], to list: inout HeaderBlock) {
    if chain.isEmpty { return add(name, own, to: &list) }
    var chain = chain
    Chains.extend(&chain, with: own)
    add(name, chain, to: &list)
  }

  private func isRuled(_ name: UnsafeRawBufferPointer) -> Bool {
    !ruled.isEmpty && ruled.contains { name.isNameForCGI($0) }
  }

  /// Whether a name reads like that of a field which the configuration goes by, and is not that.
  private func readsLikeBelieved(_ name: UnsafeRawBufferPointer) -> Bool {
    !believed.isEmpty
      && believed.contains { known in
        name.isNameForCGI(known) && !known.withUnsafeBytes { $0.equalsIgnoringCase(name) }
      }
  }

  /// Whether rules are about the field `name`.
  private static func has(_ names: [[UInt8]], _ name: String) -> Bool {
    name.withOctets { name in names.contains { name.isNameForCGI($0) } }
  }

  /// Whether an element's received-by is this gateway: `1.1 pseudonym`, perhaps with a comment.
  private func contains(pseudonym via: UnsafeRawBufferPointer) -> Bool {
    via.listElements.contains { element in
      let receiver = element.drop { !$0.isBlank }.drop { $0.isBlank }
      return receiver.prefix { !$0.isBlank }.elementsEqual(pseudonym)
    }
  }
}
