import WeirHTTP

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

  /// A name that reads like one with a meaning here, and is not that: `X.Forwarded_For`. Upstreams that pass fields on as
  /// environment variables can't tell the two apart.
  case disguised

  /// The length is compared first, so that most names cost at most one further comparison.
  init(_ name: UnsafeRawBufferPointer) {
    switch name.count {
    case 2: self = name.isNameForCGI("te") ? .hopByHop : .endToEnd
    case 3: self = name.isNameForCGI("via") ? .via : .endToEnd
    case 4: self = name.isNameForCGI("host") ? .host : .endToEnd
    // Expect ends here: the server has answered 100 already, or the body needs no 100.
    case 6: self = name.isNameForCGI("expect") ? .hopByHop : .endToEnd
    // Trailer fields are not forwarded, so neither is their announcement.
    case 7: self = name.isNameForCGI("upgrade") || name.isNameForCGI("trailer") ? .hopByHop : .endToEnd
    case 8: self = name.isNameForCGI("priority") ? .priority : .endToEnd
    case 9: self = name.isNameForCGI("forwarded") ? .forwarded : .endToEnd
    case 10:
      self =
        name.isNameForCGI("connection")
        ? .connection
        : name.isNameForCGI("keep-alive") ? .hopByHop : name.isNameForCGI("tracestate") ? .trace : .endToEnd
    case 11: self = name.isNameForCGI("traceparent") ? .trace : .endToEnd
    case 12:
      self =
        name.isNameForCGI("max-forwards")
        ? .maxForwards : name.isNameForCGI("grpc-timeout") ? .grpcTimeout : .endToEnd
    case 14:
      self = name.isNameForCGI("content-length") || name.isNameForCGI("http2-settings") ? .hopByHop : .endToEnd
    case 15:
      self =
        name.isNameForCGI("x-forwarded-for")
        ? .forwardedFor : name.isNameForCGI("x-retry-attempt") ? .retryAttempt : .endToEnd
    case 16: self = name.isNameForCGI("x-forwarded-host") ? .forwardedFact : .endToEnd
    case 17:
      self =
        name.isNameForCGI("transfer-encoding")
        ? .hopByHop : name.isNameForCGI("x-forwarded-proto") ? .forwardedFact : .endToEnd
    case 21: self = name.isNameForCGI("x-envoy-attempt-count") ? .envoyAttempt : .endToEnd
    case 30: self = name.isNameForCGI("x-envoy-expected-rq-timeout-ms") ? .envoyTimeout : .endToEnd
    default: self = .endToEnd
    }
    // Proxy-Connection, Proxy-Authorization and other such fields are between a client and its proxy. But Proxy-Status
    // tells clients what happened on the way (RFC 9209 §2).
    if case .endToEnd = self, name.count > 6, name.octets(0..<6).isNameForCGI("proxy-"),
      !name.isNameForCGI("proxy-status")
    {
      self = .hopByHop
    }
    if case .endToEnd = self { return }
    if !name.isPlainName { self = .disguised }
  }

  /// Whether a field tells of the client on behalf of a proxy: `Forwarded` and `X-Forwarded-*`, also under names
  /// that read alike.
  static func isForwardingFact(_ name: UnsafeRawBufferPointer) -> Bool {
    name.isNameForCGI("forwarded") || name.count > 12 && name.octets(0..<12).isNameForCGI("x-forwarded-")
  }

  /// Whether a field is for all that follow, so that no Connection field may end it: a client could hide who it is from
  /// an upstream that trusts `X-Forwarded-For`.
  static func isForEveryHop(_ name: UnsafeRawBufferPointer) -> Bool {
    isForwardingFact(name) || name.isNameForCGI("via")
  }
}

extension ForwardingTrust {
  /// Whether a field of a sender that is trusted so ends here. A proxy that replaces the fields of its own clients may
  /// leave those that read alike.
  func drops(_ name: UnsafeRawBufferPointer) -> Bool {
    switch self {
    case .unstated: false
    case .trusted: FieldKind.isForwardingFact(name) && !name.isPlainName
    case .foreign: FieldKind.isForwardingFact(name)
    }
  }
}

extension ResponseHead: FieldSource {}

/// The options of Connection fields that name other fields.
struct ConnectionOptions {
  /// As CGI has them. A set, as the sender decides how many there are, and each field is looked for.
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
        names.insert(option.map(\.foldedForCGI))
      }
    }
    self.names = names
  }

  @inline(__always)
  func contains(_ name: UnsafeRawBufferPointer) -> Bool {
    !names.isEmpty && names.contains(name.map(\.foldedForCGI))
  }
}

/// The urgency of a request and the time that its sender waits, as the request's fields say.
struct SchedulingHints: Equatable {
  var urgency = Urgency.standard
  /// Seconds; nil if it does not say.
  var timeout: Double?

  /// Takes the shortest of several timeouts.
  mutating func note(timeout seconds: Double?) {
    if let seconds { timeout = min(timeout ?? .infinity, seconds) }
  }

  /// The seconds in a value of `grpc-timeout`: a number of at most eight digits, above zero, and a unit (gRPC over
  /// HTTP/2, "Requests").
  static func grpcTimeout(_ value: UnsafeRawBufferPointer) -> Double? {
    guard (2...9).contains(value.count), let unit = value.last, let number = value.octets(0..<value.count - 1).decimal,
      number > 0
    else { return nil }
    let seconds: Double
    switch unit {
    case UInt8(ascii: "H"): seconds = 3_600
    case UInt8(ascii: "M"): seconds = 60
    case UInt8(ascii: "S"): seconds = 1
    case UInt8(ascii: "m"): seconds = 1e-3
    case UInt8(ascii: "u"): seconds = 1e-6
    case UInt8(ascii: "n"): seconds = 1e-9
    default: return nil
    }
    return Double(number) * seconds
  }

  /// The seconds in a value of `X-Envoy-Expected-Rq-Timeout-Ms`. Nil for 0, which stands for no limit in Envoy.
  static func envoyTimeout(_ value: UnsafeRawBufferPointer) -> Double? {
    guard value.count <= 12, let number = value.decimal, number > 0 else { return nil }
    return Double(number) / 1000
  }
}
