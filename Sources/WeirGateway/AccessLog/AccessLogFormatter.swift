import WeirHTTP

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
  /// Empty if the request is not recorded.
  var spanID = ""
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
      + AccessLine.room(for: error.utf8.count) + AccessLine.room(for: traceID.count + spanID.utf8.count)
      + AccessLine.room(for: requestID.count) + AccessLine.room(for: tls?.utf8.count ?? 0)
    // The parts of a user's name are values of their own.
    return names + members + values + user.count * AccessLine.longestEscape
  }
}

/// Writes the lines of an access log. A value, apart from the time that it keeps.
struct AccessLogFormatter {
  /// Calls its second argument with each value of the header field that the first one names.
  typealias FieldValues = (_ name: String, _ body: (UnsafeRawBufferPointer) -> Void) -> Void

  private let format: AccessLogSettings.Format
  private let hasQuery: Bool
  /// The header fields that have a place in a line: those of JSON with the beginnings of their members, or the two of
  /// `combined`.
  private let fields: [(key: [UInt8], name: String, isAsked: Bool)]
  private var time: AccessTime

  init(_ settings: AccessLogSettings) {
    format = settings.format
    time = AccessTime(format)
    hasQuery = settings.fields.contains(.query)
    switch format {
    case .json:
      fields = settings.fields.compactMap { field in
        field.name.map { (Array(",\"\(field.key)\":".utf8), $0, true) }
      }
    case .combined:
      fields = [
        ([], "Referer", settings.fields.contains(.referer)), ([], "User-Agent", settings.fields.contains(.userAgent)),
      ]
    }
  }

  /// Appends a line with its end.
  mutating func append(_ facts: borrowing AccessFacts, values: FieldValues, to lines: inout [UInt8]) {
    // The line's room depends on the values, so they come first.
    let values = fields.map { $0.isAsked ? Self.joined($0.name, values) : nil }
    var room = facts.room
    for (field, value) in zip(fields, values) { room += field.key.count + AccessLine.room(for: value?.count ?? 0) }
    AccessLine.append(to: &lines, room: room) { line in
      switch format {
      case .json: putJSON(facts, values, into: &line)
      case .combined: putCombined(facts, values, into: &line)
      }
      line.put(.lineFeed)
    }
  }

  // MARK: JSON

  private mutating func putJSON(_ facts: borrowing AccessFacts, _ values: [[UInt8]?], into line: inout AccessLine) {
    line.put("{\"time\":\"")
    time.put(milliseconds: facts.milliseconds, into: &line)
    line.put(.quotationMark)
    line.put(facts.listener)
    line.put(facts.route)
    line.put(facts.upstream)
    if let endpoint = facts.endpoint { Self.put(",\"endpoint\":", endpoint, into: &line) }
    Self.put(",\"client\":", facts.client, into: &line)
    facts.user.withUnsafeBytes { Self.put(",\"user\":", $0, into: &line) }
    Self.put(",\"method\":", facts.method, into: &line)
    Self.put(",\"host\":", facts.host, into: &line)
    Self.put(",\"path\":", facts.path, into: &line)
    if hasQuery, let query = facts.query { Self.put(",\"query\":", query, isAlwaysThere: true, into: &line) }
    if !facts.method.isEmpty {
      line.put(facts.isHTTP10 ? ",\"protocol\":\"HTTP/1.0\"" : ",\"protocol\":\"HTTP/1.1\"")
    }
    if facts.status > 0 {
      line.put(",\"status\":")
      line.put(number: Int64(facts.status))
    }
    Self.put(",\"outcome\":", facts.outcome, into: &line)
    line.put(",\"bytes_in\":")
    line.put(number: facts.bytesIn)
    line.put(",\"bytes_out\":")
    line.put(number: facts.bytesOut)
    line.put(",\"seconds\":")
    line.put(seconds: facts.seconds)
    if let seconds = facts.upstreamSeconds {
      line.put(",\"upstream_seconds\":")
      line.put(seconds: seconds)
      line.put(",\"attempts\":")
      line.put(number: Int64(facts.attempts))
    }
    Self.put(",\"error\":", facts.error, into: &line)
    facts.traceID.withUnsafeBytes { Self.put(",\"trace_id\":", $0, into: &line) }
    Self.put(",\"span_id\":", facts.spanID, into: &line)
    facts.requestID.withUnsafeBytes { Self.put(",\"request_id\":", $0, into: &line) }
    if let tls = facts.tls { Self.put(",\"tls\":", tls, into: &line) }
    for (field, value) in zip(fields, values) {
      guard let value else { continue }
      line.put(field.key)
      value.withUnsafeBytes { line.put(value: $0, isJSON: true) }
    }
    line.put(UInt8(ascii: "}"))
  }

  private static func put(_ key: StaticString, _ text: String, into line: inout AccessLine) {
    text.withOctets { put(key, $0, into: &line) }
  }

  private static func put(
    _ key: StaticString, _ value: UnsafeRawBufferPointer, isAlwaysThere: Bool = false, into line: inout AccessLine
  ) {
    guard isAlwaysThere || !value.isEmpty else { return }
    line.put(key)
    line.put(value: value, isJSON: true)
  }

  /// The values of a field, joined as RFC 9110 §5.3 has it; nil without the field.
  private static func joined(_ name: String, _ values: FieldValues) -> [UInt8]? {
    var joined: [UInt8]?
    values(name) { value in
      if joined != nil { joined?.append(contentsOf: [.comma, .space]) }
      if (joined?.count ?? 0) <= AccessLine.longestValue { joined = (joined ?? []) + value }
    }
    return joined
  }

  // MARK: Combined

  /// Puts what Apache's `"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-agent}i\""` means, the last two only if
  /// they were asked for.
  private mutating func putCombined(_ facts: borrowing AccessFacts, _ values: [[UInt8]?], into line: inout AccessLine) {
    if facts.client.isEmpty { line.put(UInt8(ascii: "-")) } else { line.put(facts.client) }
    line.put(" - ")
    putUser(facts.user, into: &line)
    line.put(" [")
    time.put(milliseconds: facts.milliseconds, into: &line)
    line.put("] ")
    putRequest(facts, into: &line)
    line.put(.space)
    if facts.status > 0 { line.put(number: Int64(facts.status)) } else { line.put(UInt8(ascii: "-")) }
    line.put(.space)
    if facts.bytesOut > 0 { line.put(number: facts.bytesOut) } else { line.put(UInt8(ascii: "-")) }
    for value in values {
      line.put(.space)
      if let value, !value.isEmpty {
        value.withUnsafeBytes { line.put(value: $0, isJSON: false) }
      } else {
        line.put("\"-\"")
      }
    }
  }

  /// A blank in a name would end it for programs that read the line.
  private func putUser(_ user: [UInt8], into line: inout AccessLine) {
    if user.isEmpty { return line.put(UInt8(ascii: "-")) }
    for (index, part) in user.split(separator: .space, omittingEmptySubsequences: false).enumerated() {
      if index > 0 { line.put("\\x20") }
      part.withUnsafeBytes { line.put(escaped: $0, isJSON: false) }
    }
  }

  private func putRequest(_ facts: borrowing AccessFacts, into line: inout AccessLine) {
    guard !facts.method.isEmpty else { return line.put("\"-\"") }
    line.put(.quotationMark)
    line.put(escaped: facts.method, isJSON: false)
    line.put(.space)
    line.put(escaped: facts.path, isJSON: false)
    if hasQuery, let query = facts.query {
      line.put(.questionMark)
      line.put(escaped: query, isJSON: false)
    }
    line.put(facts.isHTTP10 ? " HTTP/1.0\"" : " HTTP/1.1\"")
  }
}

/// Writes times in UTC. It keeps the text of the last second, since most lines are of the same one.
struct AccessTime {
  private let format: AccessLogSettings.Format
  private var second = Int64.min
  private var text: [UInt8] = []

  init(_ format: AccessLogSettings.Format) {
    self.format = format
  }

  /// Puts a time: `2026-03-01T12:00:00.250Z` (RFC 3339), or `01/Mar/2026:12:00:00 +0000`, as Apache's logs have it.
  mutating func put(milliseconds: Int64, into line: inout AccessLine) {
    // A plain division would round towards 1970.
    let fraction = (milliseconds % 1000 + 1000) % 1000
    let second = (milliseconds - fraction) / 1000
    if second != self.second { look(at: second) }
    line.put(text)
    guard format == .json else { return }
    line.put(number: fraction, digits: 3)
    line.put(UInt8(ascii: "Z"))
  }

  /// Makes the text that of a second.
  private mutating func look(at second: Int64) {
    self.second = second
    switch format {
    case .json:
      text = []
      Timestamp(milliseconds: second * 1000).append(to: &text)
      text.removeLast("000Z".utf8.count)
    case .combined:
      // Sun, 01 Mar 2026 12:00:00 GMT
      let words = HTTPDate.text(secondsSince1970: Int(second)).split(separator: " ")
      text = Array("\(words[1])/\(words[2])/\(words[3]):\(words[4]) +0000".utf8)
    }
  }
}
