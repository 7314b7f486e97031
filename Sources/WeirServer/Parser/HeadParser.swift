import WeirHTTP

/// Collects the head of a request (RFC 9112 §2.2, §3, §5) line by line, from input that is cut anywhere.
///
/// A line that lies within one piece is read in place. The head's octets are copied once, when the head or its piece
/// ends.
struct HeadParser {
  private enum Place {
    case start
    case afterEmptyLine
    /// In the header fields, the first of which begins at `start`.
    case fields(start: Int)
    /// The present head has been handed out.
    case done
  }

  private let limits: RequestParser.Limits
  private var head = RequestHead()
  private var framing = RequestFraming()
  private var place = Place.start
  /// The offset in the head at which the present line begins.
  private var lineStart = 0

  init(limits: RequestParser.Limits) {
    self.limits = limits
  }

  /// Whether a part of a head has been taken.
  var isInside: Bool {
    if case .done = place { return false }
    return held > 0
  }

  /// Whether the request that is being read, or was refused, is for HEAD, as far as it has come.
  var isForHEAD: Bool {
    if case .done = place { return false }
    return head.fields.bytes.withUnsafeBytes { bytes in
      bytes.octets((bytes.first == .carriageReturn ? min(2, bytes.count) : 0)..<bytes.count).starts(with: "HEAD ")
    }
  }

  /// Whether the fields of the present head, as far as they have come, expect `100 Continue`.
  var expectsContinue: Bool { framing.expectsContinue }

  /// Takes input up to the end of the head, or all of it. Returns nil if it needs more.
  mutating func parse(_ input: Span<UInt8>, at position: inout Int) throws(RequestRefusal) -> RequestHead? {
    if case .done = place { begin() }
    var copied = position
    do {
      return try parse(input, at: &position, copied: &copied)
    } catch {
      // As much as tells the method.
      head.fields.bytes.append(input.extracting(copied..<min(copied + 8, input.count)))
      throw error
    }
  }

  /// - Parameter copied: The index in the input up to which the head has its octets.
  private mutating func parse(
    _ input: Span<UInt8>, at position: inout Int, copied: inout Int
  ) throws(RequestRefusal) -> RequestHead? {
    if lineStart == held { try checkFirstOctet(of: input, at: position) }
    while true {
      if lineStart >= held { try takeUsualFields(input, at: &position, offset: held - copied) }
      guard let lineFeed = input.firstIndex(of: .lineFeed, from: position) else { break }
      let next = lineFeed + 1
      let lineEnd = held + next - copied
      try checkSize(upTo: lineEnd)
      let isLast: Bool
      if lineStart < held {
        head.fields.bytes.append(input.extracting(copied..<next))
        copied = next
        let line = head.fields.bytes[lineStart..<lineEnd]
        isLast = try take(line.span)
      } else {
        isLast = try take(input.extracting(position..<next))
      }
      position = next
      lineStart = lineEnd
      if isLast {
        head.fields.bytes.append(input.extracting(copied..<position))
        copied = position
        return try finish()
      }
      try checkFirstOctet(of: input, at: position)
    }
    head.fields.bytes.append(input.extracting(copied..<input.count))
    (position, copied) = (input.count, input.count)
    try checkSize(upTo: held)
    return nil
  }

  private var held: Int { head.fields.bytes.count }

  /// Takes fields for as long as their lines are whole and have the usual form. All other lines are left to `take`, which
  /// would read these in the same way.
  ///
  /// - Parameter offset: The offset in the head of the input's first octet.
  private mutating func takeUsualFields(
    _ input: Span<UInt8>, at position: inout Int, offset: Int
  ) throws(RequestRefusal) {
    guard case .fields(let start) = place else { return }
    try input.withUnsafeBytes { (octets) throws(RequestRefusal) in
      guard let base = octets.baseAddress else { return }
      // Those that are too many are refused there.
      let end = min(octets.count, start + limits.headerBytes - offset)
      while let field = UsualField(base, from: position, before: end) {
        let value = octets.trimmed(field.colon + 1..<field.valueEnd)
        try takeField(name: position..<field.colon, value: value, in: octets, offset: offset)
        position = field.lineEnd
        lineStart = offset + position
      }
    }
  }

  private mutating func begin() {
    // The request line and the end of the head say all the rest anew.
    head.fields.reset()
    framing = RequestFraming()
    place = .start
    lineStart = 0
  }

  /// Refuses a line at its first octet if that can't begin a request: a TLS greeting may hold no line feed to wait for.
  private func checkFirstOctet(of input: Span<UInt8>, at position: Int) throws(RequestRefusal) {
    if case .fields = place { return }
    guard position < input.count else { return }
    let octet = input[position]
    guard OctetSet.token.contains(octet) || octet == .carriageReturn else {
      throw .badRequest("this is not HTTP")
    }
  }

  private func checkSize(upTo end: Int) throws(RequestRefusal) {
    if case .fields(let start) = place {
      if end - start > limits.headerBytes { throw .headerTooLarge }
    } else {
      let longest = RequestLine.longestMethod + limits.targetBytes + RequestLine.versionAndSpaces + 2
      if end - lineStart > longest { throw .targetTooLong }
    }
  }

  /// Takes a line with its line feed. Returns true for the empty line that ends the head.
  private mutating func take(_ line: Span<UInt8>) throws(RequestRefusal) -> Bool {
    let end = line.count - 2
    guard end >= 0, line[end] == .carriageReturn else { throw .badRequest("a line doesn't end with CR LF") }
    switch place {
    case .start where end == 0:
      place = .afterEmptyLine  // RFC 9112 §2.2: old clients send it after a body
    case .start, .afterEmptyLine:
      try takeRequestLine(line.extracting(0..<end))
      place = .fields(start: lineStart + line.count)
    case .fields, .done:
      if end == 0 { return true }
      try takeField(line.extracting(0..<end))
    }
    return false
  }

  private mutating func takeRequestLine(_ text: Span<UInt8>) throws(RequestRefusal) {
    let line = try RequestLine(text, targetLimit: limits.targetBytes)
    head.version = line.version
    head.form = line.form
    head.methodRange = located(line.method)
    head.targetRange = located(line.target)
    head.pathRange = located(line.path)
    head.queryRange = line.query.map(located)
    head.authorityRange = line.authority.map(located) ?? .empty
  }

  private mutating func takeField(_ line: Span<UInt8>) throws(RequestRefusal) {
    let field = try Self.field(line)
    try line.withUnsafeBytes { (line) throws(RequestRefusal) in
      try takeField(name: field.name, value: field.value, in: line, offset: lineStart)
    }
  }

  /// - Parameter offset: The offset in the head of the first of `octets`.
  private mutating func takeField(
    name: Range<Int>, value: Range<Int>, in octets: UnsafeRawBufferPointer, offset: Int
  ) throws(RequestRefusal) {
    guard head.fields.count < limits.headerFields else { throw .headerTooLarge }
    let place = offset + value.lowerBound..<offset + value.upperBound
    head.fields.append(
      name: ByteRange(offset + name.lowerBound..<offset + name.upperBound), value: ByteRange(place))
    try framing.take(name: octets.octets(name), value: octets.octets(value), at: place)
  }

  private static func field(_ line: Span<UInt8>) throws(RequestRefusal) -> FieldLine {
    do throws(FieldLine.Defect) {
      return try FieldLine(strictly: line)
    } catch {
      switch error {
      case .folded: throw .badRequest("a folded header field")
      case .name: throw .badRequest("a header field's name is malformed")
      case .value: throw .badRequest("a header field's value holds a control character")
      }
    }
  }

  private mutating func finish() throws(RequestRefusal) -> RequestHead {
    head.bodyLength = try framing.bodyLength(
      version: head.version, limit: limits.bodyBytes, opensTunnel: head.form == .authority)
    head.fields.mayNameFields = framing.namesFields
    head.keepsAlive = framing.keepsAlive(version: head.version)
    // RFC 9110 §10.1.1: HTTP/1.0 ignores the expectation, and without a body there is nothing to continue with.
    head.expectsContinue = framing.expectsContinue && head.version == .http11 && !head.bodyLength.isEmpty
    if head.form == .origin || head.form == .asterisk {
      head.authorityRange = framing.host.map(ByteRange.init) ?? .empty
    }
    place = .done
    defer { head.forgetLargeBuffers() }
    return head
  }

  private func located(_ range: Range<Int>) -> ByteRange {
    ByteRange(lineStart + range.lowerBound..<lineStart + range.upperBound)
  }
}
