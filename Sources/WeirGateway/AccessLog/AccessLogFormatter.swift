import WeirHTTP

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
