import WeirHTTP

/// What a request's sender says of its urgency, and of how long it waits.
struct CallerWishes: Equatable {
  var urgency = Urgency.standard
  /// Seconds; nil if it does not say.
  var timeout: Double?

  /// Takes the shortest of several timeouts.
  mutating func note(timeout seconds: Double?) {
    if let seconds { timeout = min(timeout ?? .infinity, seconds) }
  }

  /// The seconds in a value of `grpc-timeout`: at most eight digits and a unit (gRPC over HTTP/2, "Requests").
  static func grpcTimeout(_ value: UnsafeRawBufferPointer) -> Double? {
    guard (2...9).contains(value.count), let unit = value.last, let number = value.octets(0..<value.count - 1).decimal
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

  /// The seconds in a value of `X-Envoy-Expected-Rq-Timeout-Ms`.
  static func envoyTimeout(_ value: UnsafeRawBufferPointer) -> Double? {
    value.count <= 12 ? value.decimal.map { Double($0) / 1000 } : nil
  }
}
