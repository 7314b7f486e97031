import WeirHTTP

/// Writes the lines of an access log. A value, apart from the time that it keeps.
struct AccessLogFormatter {
  /// Calls its second argument with each value of the header field that the first one names.
  typealias FieldValues = (_ name: String, _ body: (UnsafeRawBufferPointer) -> Void) -> Void

  private let format: AccessLogSettings.Format
  private let hasQuery: Bool
  private let hasUserAgent: Bool
  private let hasReferer: Bool
  /// The members of header fields, each with the field's name.
  private let members: [(key: [UInt8], name: String)]
  private var time: AccessTime

  init(_ settings: AccessLogSettings) {
    format = settings.format
    time = AccessTime(format)
    hasQuery = settings.fields.contains(.query)
    hasUserAgent = settings.fields.contains(.userAgent)
    hasReferer = settings.fields.contains(.referer)
    members = settings.fields.compactMap { field in
      field.name.map { (Array(",\"\(field.key)\":".utf8), $0) }
    }
  }

  /// Appends a line with its end.
  mutating func append(_ facts: AccessFacts, values: FieldValues, to lines: inout [UInt8]) {
    switch format {
    case .json: appendJSON(facts, values, to: &lines)
    case .combined: appendCombined(facts, values, to: &lines)
    }
    lines.append(.lineFeed)
  }

  // MARK: JSON

  private mutating func appendJSON(_ facts: AccessFacts, _ values: FieldValues, to line: inout [UInt8]) {
    line.append(accessText: "{\"time\":\"")
    time.append(milliseconds: facts.milliseconds, to: &line)
    line.append(.quotationMark)
    line.append(contentsOf: facts.listener)
    line.append(contentsOf: facts.route)
    line.append(contentsOf: facts.upstream)
    if let endpoint = facts.endpoint { Self.append(",\"endpoint\":", endpoint, to: &line) }
    Self.append(",\"client\":", facts.client, to: &line)
    facts.user.withUnsafeBytes { Self.append(",\"user\":", $0, to: &line) }
    Self.append(",\"method\":", facts.method, to: &line)
    Self.append(",\"host\":", facts.host, to: &line)
    Self.append(",\"path\":", facts.path, to: &line)
    if hasQuery, let query = facts.query { Self.append(",\"query\":", query, isAlwaysThere: true, to: &line) }
    if !facts.method.isEmpty {
      line.append(accessText: facts.isHTTP10 ? ",\"protocol\":\"HTTP/1.0\"" : ",\"protocol\":\"HTTP/1.1\"")
    }
    if facts.status > 0 {
      line.append(accessText: ",\"status\":")
      line.append(accessNumber: Int64(facts.status))
    }
    Self.append(",\"outcome\":", facts.outcome, to: &line)
    line.append(accessText: ",\"bytes_in\":")
    line.append(accessNumber: facts.bytesIn)
    line.append(accessText: ",\"bytes_out\":")
    line.append(accessNumber: facts.bytesOut)
    line.append(accessText: ",\"seconds\":")
    line.append(accessSeconds: facts.seconds)
    if let seconds = facts.upstreamSeconds {
      line.append(accessText: ",\"upstream_seconds\":")
      line.append(accessSeconds: seconds)
      line.append(accessText: ",\"attempts\":")
      line.append(accessNumber: Int64(facts.attempts))
    }
    Self.append(",\"error\":", facts.error, to: &line)
    facts.traceID.withUnsafeBytes { Self.append(",\"trace_id\":", $0, to: &line) }
    facts.requestID.withUnsafeBytes { Self.append(",\"request_id\":", $0, to: &line) }
    if let tls = facts.tls { Self.append(",\"tls\":", tls, to: &line) }
    for (key, name) in members {
      let value = Self.joined(name, values)
      guard let value else { continue }
      line.append(contentsOf: key)
      value.withUnsafeBytes { line.append(accessValue: $0, isJSON: true) }
    }
    line.append(UInt8(ascii: "}"))
  }

  private static func append(_ key: StaticString, _ text: String, to line: inout [UInt8]) {
    text.withOctets { append(key, $0, to: &line) }
  }

  private static func append(
    _ key: StaticString, _ value: UnsafeRawBufferPointer, isAlwaysThere: Bool = false, to line: inout [UInt8]
  ) {
    guard isAlwaysThere || !value.isEmpty else { return }
    line.append(accessText: key)
    line.append(accessValue: value, isJSON: true)
  }

  /// The values of a field, joined as RFC 9110 §5.3 has it; nil without the field.
  private static func joined(_ name: String, _ values: FieldValues) -> [UInt8]? {
    var joined: [UInt8]?
    values(name) { value in
      if joined != nil { joined?.append(contentsOf: [.comma, .space]) }
      if (joined?.count ?? 0) <= [UInt8].longestAccessValue { joined = (joined ?? []) + value }
    }
    return joined
  }

  // MARK: Combined

  /// Appends what Apache's `"%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-agent}i\""` means, the last two only if
  /// they were asked for.
  private mutating func appendCombined(_ facts: AccessFacts, _ values: FieldValues, to line: inout [UInt8]) {
    if facts.client.isEmpty { line.append(UInt8(ascii: "-")) } else { line.append(contentsOf: facts.client) }
    line.append(accessText: " - ")
    appendUser(facts.user, to: &line)
    line.append(accessText: " [")
    time.append(milliseconds: facts.milliseconds, to: &line)
    line.append(accessText: "] ")
    appendRequest(facts, to: &line)
    line.append(.space)
    if facts.status > 0 { line.append(accessNumber: Int64(facts.status)) } else { line.append(UInt8(ascii: "-")) }
    line.append(.space)
    if facts.bytesOut > 0 { line.append(accessNumber: facts.bytesOut) } else { line.append(UInt8(ascii: "-")) }
    for (isAsked, name) in [(hasReferer, "Referer"), (hasUserAgent, "User-Agent")] {
      line.append(.space)
      if isAsked, let value = Self.joined(name, values), !value.isEmpty {
        value.withUnsafeBytes { line.append(accessValue: $0, isJSON: false) }
      } else {
        line.append(accessText: "\"-\"")
      }
    }
  }

  /// A blank in a name would end it for programs that read the line.
  private func appendUser(_ user: [UInt8], to line: inout [UInt8]) {
    if user.isEmpty { return line.append(UInt8(ascii: "-")) }
    for (index, part) in user.split(separator: .space, omittingEmptySubsequences: false).enumerated() {
      if index > 0 { line.append(accessText: "\\x20") }
      part.withUnsafeBytes { line.append(accessOctets: $0, isJSON: false) }
    }
  }

  private func appendRequest(_ facts: AccessFacts, to line: inout [UInt8]) {
    guard !facts.method.isEmpty else { return line.append(accessText: "\"-\"") }
    line.append(.quotationMark)
    line.append(accessOctets: facts.method, isJSON: false)
    line.append(.space)
    line.append(accessOctets: facts.path, isJSON: false)
    if hasQuery, let query = facts.query {
      line.append(.questionMark)
      line.append(accessOctets: query, isJSON: false)
    }
    line.append(accessText: facts.isHTTP10 ? " HTTP/1.0\"" : " HTTP/1.1\"")
  }
}
