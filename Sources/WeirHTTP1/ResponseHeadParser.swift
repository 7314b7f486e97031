import WeirHTTP

/// Collects the heads of a response (RFC 9112 §2.2, §4, §5) line by line, from input that is cut anywhere.
///
/// A line that lies within one piece is read in place. A head that lies within one piece is copied once.
struct ResponseHeadParser {
  private let maximumSize: Int
  /// The octets of the present head that earlier pieces had.
  private var held: [UInt8] = []
  /// The offset in the head at which the present line begins.
  private var lineStart = 0
  private var hasFolds = false
  /// The status line of the present head, once it is whole.
  private(set) var statusLine: StatusLine?
  /// The framing by the present head.
  private(set) var framing = ResponseFraming()

  init(maximumSize: Int) {
    self.maximumSize = maximumSize
  }

  /// The octets of the present head so far.
  var heldCount: Int { held.count }

  /// Takes input up to the end of the head, or all of it. Returns the head, and nil if it needs more.
  mutating func parse(
    _ input: UnsafeRawBufferPointer, at position: inout Int
  ) throws(ResponseDefect) -> ResponseHead? {
    /// The offset in the head of the input's first octet.
    let offset = held.count - position
    var copied = position
    while true {
      if lineStart == offset + position, try takeUsualLines(input, at: &position, offset: offset) {
        return finish(with: input.octets(copied..<position))
      }
      if statusLine == nil { try checkBeginning(input, from: position) }
      guard let lineFeed = input.firstIndex(of: .lineFeed, in: position..<input.count) else { break }
      let next = lineFeed + 1
      try checkSize(offset + next)
      let isLast: Bool
      if lineStart < held.count {
        held.append(contentsOf: input.octets(copied..<next))
        copied = next
        isLast = try takeHeldLine()
      } else {
        isLast = try take(input, line: position..<next)
      }
      position = next
      lineStart = offset + next
      if isLast { return finish(with: input.octets(copied..<next)) }
    }
    held.append(contentsOf: input.octets(copied..<input.count))
    position = input.count
    try checkSize(held.count)
    return nil
  }

  private func checkSize(_ size: Int) throws(ResponseDefect) {
    if size > maximumSize { throw .headTooLarge }
  }

  /// Takes lines for as long as they are whole, have the usual form, and fit the head's limit. All other lines are left
  /// to `take`, which would read these in the same way. Returns true behind the empty line that ends the head.
  private mutating func takeUsualLines(
    _ input: UnsafeRawBufferPointer, at position: inout Int, offset: Int
  ) throws(ResponseDefect) -> Bool {
    guard let octets = input.baseAddress else { return false }
    let end = min(input.count, maximumSize - offset)
    var start = position
    if statusLine == nil {
      guard let line = StatusLine(usual: octets, from: start, before: end, lineEnd: &start) else { return false }
      statusLine = line
    }
    let isInterim = statusLine?.isInterim ?? true
    while let field = UsualField(octets, from: start, before: end) {
      if !isInterim, ResponseFraming.mayConcern(nameOf: field.colon - start) {
        try framing.take(name: start..<field.colon, value: field.colon + 1..<field.valueEnd, in: input)
      } else {
        framing.takeOther()
      }
      start = field.lineEnd
    }
    let isLast = start < end - 1 && octets[start] == .carriageReturn && octets[start + 1] == .lineFeed
    position = isLast ? start + 2 : start
    lineStart = offset + position
    return isLast
  }

  /// Refuses what can't become a status line before its line end: there may be none to wait for.
  private func checkBeginning(_ input: UnsafeRawBufferPointer, from position: Int) throws(ResponseDefect) {
    let prefix: StaticString = "HTTP/"
    var index = held.count
    while index < prefix.utf8CodeUnitCount, position + index - held.count < input.count {
      guard input[position + index - held.count] == prefix.utf8Start[index] else { throw .notHTTP }
      index += 1
    }
  }

  private mutating func takeHeldLine() throws(ResponseDefect) -> Bool {
    // A second reference, as the call changes the other properties.
    let head = held
    return try head.span.withUnsafeBytes { (head) throws(ResponseDefect) in
      try take(head, line: lineStart..<head.count)
    }
  }

  /// Takes a line with its line feed. Returns true for the empty line that ends the head.
  private mutating func take(_ octets: UnsafeRawBufferPointer, line: Range<Int>) throws(ResponseDefect) -> Bool {
    var end = line.upperBound - 1
    if end > line.lowerBound, octets[end - 1] == .carriageReturn { end -= 1 }
    let text = line.lowerBound..<end
    guard let statusLine else {
      self.statusLine = try Self.statusLine(octets.octets(text))
      return false
    }
    if text.isEmpty { return true }
    if octets[text.lowerBound].isBlank {
      try takeContinuation(octets, text)
    } else {
      let field = try FieldLine(strictly: octets, in: text)
      // The fields of an interim response frame nothing.
      if statusLine.isInterim {
        framing.takeOther()
      } else {
        try framing.take(name: field.name, value: field.value, in: octets)
      }
    }
    return false
  }

  private mutating func takeContinuation(
    _ octets: UnsafeRawBufferPointer, _ text: Range<Int>
  ) throws(ResponseDefect) {
    guard framing.hasFields else { throw .malformedHead(.fold) }
    if octets.hasBreak(in: text) { throw .malformedHead(.fieldValue) }
    try framing.takeContinuation()
    hasFolds = true
  }

  private mutating func finish(with rest: UnsafeRawBufferPointer) -> ResponseHead? {
    guard let statusLine else { return nil }
    held.append(contentsOf: rest)
    return ResponseHead(
      status: statusLine.status, version: statusLine.version, isEncoded: framing.isEncoded,
      // An interim head's fields are not read for the framing.
      mayNameFields: framing.mayNameFields || statusLine.isInterim, bytes: hasFolds ? Self.unfolded(held) : held)
  }

  /// Releases the octets of the final head.
  mutating func release() {
    held = []
  }

  /// Makes ready for the next head.
  mutating func reset() {
    self = ResponseHeadParser(maximumSize: maximumSize)
  }

  private static func statusLine(_ text: UnsafeRawBufferPointer) throws(ResponseDefect) -> StatusLine {
    guard let line = StatusLine(text) else { throw .notHTTP }
    if line.version.major == 2 || line.version.major == 3 { throw .malformedHead(.version) }
    guard text.starts(with: "HTTP/1.") else { throw .notHTTP }
    guard line.status >= 100 else { throw .malformedHead(.status) }
    if text.hasBreak(in: 0..<text.count) { throw .malformedHead(.reason) }
    return line
  }

  /// The head with each folded line joined to the line before.
  private static func unfolded(_ head: [UInt8]) -> [UInt8] {
    var joined: [UInt8] = []
    joined.reserveCapacity(head.count)
    head.withUnsafeBytes { head in
      var position = 0
      while position < head.count {
        let next = head.firstIndex(of: .lineFeed, in: position..<head.count).map { $0 + 1 } ?? head.count
        joined.append(headLine: head.octets(position..<next))
        position = next
      }
    }
    return joined
  }
}
