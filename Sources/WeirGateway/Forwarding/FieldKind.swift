import WeirHTTP
import WeirServer

/// The treatment of a field in forwarding, which depends on its name.
enum FieldKind {
  /// Is forwarded unchanged.
  case endToEnd
  /// Names further fields that end here (RFC 9110 §7.6.1).
  case connection
  /// Belongs to one connection or to a message's framing. It ends here, and is written anew if it is needed.
  case hopByHop
  case host
  case via
  case maxForwards
  case forwarded
  case forwardedFor
  /// `X-Forwarded-Host`, `X-Forwarded-Proto`: a client's values are replaced.
  case forwardedFact
  /// `X-Retry-Attempt`: the received values become one number, to which the gateway adds.
  case retryAttempt
  /// `x-envoy-attempt-count`: read, and forwarded.
  case envoyAttempt
  /// `traceparent` and `tracestate` (W3C Trace Context).
  case trace
  /// `Priority`: read, and forwarded (RFC 9218).
  case priority
  /// `grpc-timeout` and `X-Envoy-Expected-Rq-Timeout-Ms`: read, and forwarded.
  case grpcTimeout
  case envoyTimeout

  /// The length is compared first, so that most names cost at most one further comparison.
  init(_ name: UnsafeRawBufferPointer) {
    switch name.count {
    case 2: self = name.spells("te") ? .hopByHop : .endToEnd
    case 3: self = name.spells("via") ? .via : .endToEnd
    case 4: self = name.spells("host") ? .host : .endToEnd
    // Expect ends here: the server has answered 100 already, or the body needs no 100.
    case 6: self = name.spells("expect") ? .hopByHop : .endToEnd
    // Trailer fields are not forwarded, so neither is their announcement.
    case 7: self = name.spells("upgrade") || name.spells("trailer") ? .hopByHop : .endToEnd
    case 8: self = name.spells("priority") ? .priority : .endToEnd
    case 9: self = name.spells("forwarded") ? .forwarded : .endToEnd
    case 10:
      self =
        name.spells("connection")
        ? .connection : name.spells("keep-alive") ? .hopByHop : name.spells("tracestate") ? .trace : .endToEnd
    case 11: self = name.spells("traceparent") ? .trace : .endToEnd
    case 12:
      self = name.spells("max-forwards") ? .maxForwards : name.spells("grpc-timeout") ? .grpcTimeout : .endToEnd
    case 14: self = name.spells("content-length") || name.spells("http2-settings") ? .hopByHop : .endToEnd
    case 15:
      self = name.spells("x-forwarded-for") ? .forwardedFor : name.spells("x-retry-attempt") ? .retryAttempt : .endToEnd
    case 16: self = name.spells("x-forwarded-host") ? .forwardedFact : .endToEnd
    case 17:
      self =
        name.spells("transfer-encoding") ? .hopByHop : name.spells("x-forwarded-proto") ? .forwardedFact : .endToEnd
    case 21: self = name.spells("x-envoy-attempt-count") ? .envoyAttempt : .endToEnd
    case 30: self = name.spells("x-envoy-expected-rq-timeout-ms") ? .envoyTimeout : .endToEnd
    default: self = .endToEnd
    }
    // Proxy-Connection, Proxy-Authorization and other such fields are between a client and its proxy. But Proxy-Status
    // tells clients what happened on the way (RFC 9209 §2).
    if case .endToEnd = self, name.count > 6, name[0].lowercased == UInt8(ascii: "p"), name.begins(with: "proxy-"),
      !name.spells("proxy-status")
    {
      self = .hopByHop
    }
  }

  /// Whether a field tells of the client on behalf of a proxy: `Forwarded` and `X-Forwarded-*`, also in the disguise of
  /// underscores.
  static func isForwardingFact(_ name: UnsafeRawBufferPointer) -> Bool {
    if name.count == forwardedName.count { return name.isNameForCGI(forwardedName) }
    let count = forwardingPrefix.count
    return name.count > count && name.octets(0..<count).isNameForCGI(forwardingPrefix)
  }

  /// Whether a field is for all that follow, so that no Connection field may end it: a client could hide who it is from
  /// an upstream that trusts `X-Forwarded-For`.
  static func isForEveryHop(_ name: UnsafeRawBufferPointer) -> Bool { isForwardingFact(name) || name.spells("via") }

  private static let forwardedName = Array("forwarded".utf8)
  private static let forwardingPrefix = Array("x-forwarded-".utf8)

  /// Whether a name with underscores would be a field with a special meaning here if they were hyphens. Upstreams that
  /// pass fields on as environment variables (RFC 3875 §4.1.18) can't tell the two apart.
  static func isDisguised(_ name: UnsafeRawBufferPointer) -> Bool {
    guard name.firstIndex(of: UInt8(ascii: "_"), in: 0..<name.count) != nil else { return false }
    let plain = name.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }
    return plain.withUnsafeBytes { if case .endToEnd = FieldKind($0) { false } else { true } }
  }
}

extension ForwardingTrust {
  /// Whether a field of a sender that is trusted so ends here. A proxy that replaces the fields of its own clients may
  /// leave their disguises.
  func drops(_ name: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .unstated: false
    case .trusted: FieldKind.isForwardingFact(name) && name.contains(UInt8(ascii: "_"))
    case .foreign: FieldKind.isForwardingFact(name)
    }
  }
}

extension ResponseHead: FieldSource {}

/// The options of Connection fields that name other fields.
struct ConnectionOptions {
  /// In lower case. A set, as the sender decides how many there are, and each field is looked for.
  private var names: Set<[UInt8]> = []

  init(_ fields: some FieldSource) {
    guard fields.mayNameFields else { return }
    var names: Set<[UInt8]> = []
    fields.forEach { name, value in
      guard name.count == 10, name.spells("connection") else { return }
      // Almost every client sends this, and most upstreams do.
      if value.spells("keep-alive") || value.spells("close") { return }
      for option in value.listElements {
        // These two name no field that would not end here anyway.
        if option.isEmpty || option.spells("close") || option.spells("keep-alive") { continue }
        if FieldKind.isForEveryHop(option) { continue }
        names.insert(option.map(\.lowercased))
      }
    }
    self.names = names
  }

  func contains(_ name: UnsafeRawBufferPointer) -> Bool {
    !names.isEmpty && names.contains(name.map(\.lowercased))
  }
}
