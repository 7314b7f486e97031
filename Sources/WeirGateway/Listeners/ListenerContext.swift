import WeirExporterTLS
import WeirHTTP
import WeirIO
import WeirServer
import WeirTLS

/// The facts that requests of one listener share: who is believed about their clients. An object, so that each request
/// keeps it at the cost of a reference.
final class ListenerContext: Sendable {
  /// Nil if the configuration says nothing about proxies: then everybody's fields are extended.
  private let proxies: ClientNetworks?
  /// The rules that each request's client is judged by; nil without any.
  let clients: ClientRules?
  private let field: ClientAddress.Field
  /// The facts of a client without a certificate; nil if there is nothing to say.
  private let facts: ClientFacts?
  private let forward: ListenerTLS.Forwarding
  private let forwardsCertificates: Bool
  /// Whether clients speak TLS.
  let isSecure: Bool
  /// Whether clients may use the listener as their proxy.
  let isForwardProxy: Bool
  let name: [UInt8]
  /// The name as a member of an access line.
  let accessMember: [UInt8]
  /// The most bytes of a request's body; nil for no limit.
  let bodyBytes: Int64?

  init(_ settings: ListenerSettings) {
    proxies = settings.trustedProxies
    clients = settings.clientsOfRequests
    field = settings.clientAddress
    isSecure = settings.tls != nil
    isForwardProxy = settings.isForwardProxy
    forward = settings.tls?.forward ?? ListenerTLS.Forwarding()
    forwardsCertificates = !forward.names.isEmpty
    name = Array(settings.name.utf8)
    // A listener's name has no octet that JSON would escape.
    accessMember = Array(",\"listener\":\"\(settings.name)\"".utf8)
    bodyBytes = settings.limits.bodyBytes
    let isPlain = !isSecure && settings.reservedFields.isEmpty
    facts = isPlain ? nil : ClientFacts(isSecure: isSecure, reserved: settings.reservedFields)
  }

  /// What a connection says of its client; nil if that is nothing.
  func facts(of exchange: Exchange) -> ClientFacts? {
    guard forwardsCertificates, let facts, let channel = exchange.channel as? TLSChannel else { return facts }
    return channel.facts(as: forward, like: facts)
  }

  /// Whether the certificate that a client was shown is for the host that it asks for, unless names don't matter, it
  /// names none, or its target leads beyond a forward proxy, whose certificate it was.
  func serves(_ authority: UnsafeRawBufferPointer, _ exchange: Exchange) -> Bool {
    guard isSecure, !authority.isEmpty, let channel = exchange.channel as? TLSChannel, channel.stream.hasStrictNames,
      !isForwardProxy || exchange.head.form == .origin
    else { return true }
    let host = authority.prefix(RequestAuthority.hostLength(authority.bindMemory(to: UInt8.self).span))
    return channel.stream.certificateCovers(host: String(decoding: host, as: UTF8.self))
  }

  /// How far a peer's word about the client counts.
  func trust(in peer: SocketAddress) -> ForwardingTrust {
    guard let proxies else { return .unstated }
    return proxies.contains(ClientAddress(peer: peer)) ? .trusted : .foreign
  }

  /// The version of TLS that a request came by, as "1.3"; nil for plain HTTP.
  func tlsVersion(of exchange: Exchange) -> String? {
    guard isSecure, let channel = exchange.channel as? TLSChannel else { return nil }
    return channel.stream.version
  }

  /// The client that a trusted proxy reports; nil if the peer itself counts as the client. Found anew by each call.
  func reportedClient(of exchange: Exchange) -> IPAddress? {
    if proxies == nil { return nil }
    let client = client(of: exchange)
    guard client != ClientAddress(peer: exchange.peer), case .ip(let address) = client else { return nil }
    return address
  }

  /// The client of a request: the connection's peer, or the client that a trusted proxy reports. Found anew by each call.
  func client(of exchange: Exchange) -> ClientAddress {
    let peer = ClientAddress(peer: exchange.peer)
    guard let proxies else { return peer }
    return ClientAddress(peer: peer, field: field, trusting: proxies) { body in
      exchange.head.fields.forEachValue(of: field.name, body)
    }
  }
}

/// How far a peer's word about the client counts, in `X-Forwarded-*` and `Forwarded`.
enum ForwardingTrust: Sendable {
  /// Nothing was said about proxies: lists are extended, and what a client could claim is replaced.
  case unstated
  /// A trusted proxy: lists are extended, and its `X-Forwarded-Proto` and `X-Forwarded-Host` pass.
  case trusted
  /// Somebody else: all of its fields of these kinds are dropped.
  case foreign
}

/// What the connection itself says of a client to upstreams, besides its address.
final class ClientFacts: Sendable {
  /// Whether the client speaks TLS.
  let isSecure: Bool
  /// The names, in lower case, of fields that this gateway alone sends.
  private let reserved: [[UInt8]]
  /// The fields about the client's certificate.
  let fields: [(name: [UInt8], value: [UInt8])]

  /// The facts of a client without a certificate.
  init(isSecure: Bool, reserved names: [String]) {
    self.isSecure = isSecure
    reserved = names.map { Array(FieldSyntax.lowercased($0).utf8) }
    fields = []
  }

  /// The facts of a client with a certificate.
  init(_ certificate: ClientCertificate, as forward: ListenerTLS.Forwarding, like others: ClientFacts) {
    isSecure = true
    reserved = others.reserved
    let subject = forward.subject.map { (Array($0.utf8), Array(certificate.subject.utf8)) }
    let encoded = forward.certificate.map { (Array($0.utf8), Array(certificate.encoded.utf8)) }
    fields = [subject, encoded].compactMap(\.self)
  }

  /// Whether a client's field is one that this gateway alone sends, or reads like one.
  func reserves(_ name: UnsafeRawBufferPointer) -> Bool {
    !reserved.isEmpty && reserved.contains { name.isNameForCGI($0) }
  }
}

extension TLSChannel {
  /// The facts about the client and its certificate, found once per connection.
  fileprivate func facts(as forward: ListenerTLS.Forwarding, like others: ClientFacts) -> ClientFacts {
    if let known = note as? ClientFacts { return known }
    let facts = stream.clientCertificate.map { ClientFacts($0, as: forward, like: others) } ?? others
    note = facts
    return facts
  }
}
