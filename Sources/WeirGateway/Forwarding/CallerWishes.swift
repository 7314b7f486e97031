import WeirHTTP

/// The urgency of a request and the time that its sender waits, as the sender says.
struct CallerWishes: Equatable {
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
