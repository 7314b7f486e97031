/// The facts in one line of an access log. The octets are valid only as long as the line is written.
///
/// Not copyable: a copy would retain and release each of the many fields.
struct AccessFacts: ~Copyable {
  /// The time at which the request came: milliseconds since 1970.
  var milliseconds: Int64
  /// Members of JSON that don't change from one request to the next, each with a comma in front of it; empty without a
  /// value.
  var listener: [UInt8] = []
  var route: [UInt8] = []
  var upstream: [UInt8] = []
  var endpoint: String?
  var client = UnsafeRawBufferPointer(start: nil, count: 0)
  /// The name of the user that has given a password; empty without one.
  var user: [UInt8] = []
  /// The parts of the request; empty if it could not be read.
  var method = UnsafeRawBufferPointer(start: nil, count: 0)
  var host = UnsafeRawBufferPointer(start: nil, count: 0)
  var path = UnsafeRawBufferPointer(start: nil, count: 0)
  /// Nil without a question mark.
  var query: UnsafeRawBufferPointer?
  var isHTTP10 = false
  /// 0 if none was sent.
  var status: Int
  var outcome: String
  /// Bytes of the bodies, without their framing.
  var bytesIn: Int64 = 0
  var bytesOut: Int64 = 0
  var seconds: Double
  /// Nil for a request that was not forwarded.
  var upstreamSeconds: Double?
  var attempts = 0
  /// The label of the failure; empty without one.
  var error = ""
  /// Lower-case hexadecimal digits; empty without a trace.
  var traceID: [UInt8] = []
  var requestID: [UInt8] = []
  /// The version of TLS, as "1.3"; nil without.
  var tls: String?

  /// The most room that the facts take in a line, with their names.
  var room: Int {
    let names = 512
    let members = listener.count + route.count + upstream.count
    let values =
      AccessLine.room(for: client.count) + AccessLine.room(for: method.count) + AccessLine.room(for: host.count)
      + AccessLine.room(for: path.count) + AccessLine.room(for: query?.count ?? 0)
      + AccessLine.room(for: endpoint?.utf8.count ?? 0) + AccessLine.room(for: outcome.utf8.count)
      + AccessLine.room(for: error.utf8.count) + AccessLine.room(for: traceID.count)
      + AccessLine.room(for: requestID.count) + AccessLine.room(for: tls?.utf8.count ?? 0)
    // The parts of a user's name are values of their own.
    return names + members + values + user.count * AccessLine.longestEscape
  }
}
