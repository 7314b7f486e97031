import WeirHTTP

/// Removes the chunked coding from a body (RFC 9112 §7.1). Extensions and trailer fields are checked, bounded and
/// dropped.
struct ChunkedBody {
  enum Step {
    case data(Range<Int>)
    case end
    case needsInput
  }

  /// The limit of octets in the line with a chunk's size. An attacker can add no more than that to each chunk.
  static let longestSizeLine = 256
  /// The limit of octets of extensions in a whole body.
  static let mostExtensions = 16 * 1024

  private enum Place {
    case size(digits: Int)
    /// Behind a semicolon, where a name must begin.
    case extensionStart
    case `extension`
    case quotation(isEscaped: Bool)
    case sizeLineFeed
    case data
    case dataReturn
    case dataLineFeed
    case trailerStart
    case trailerName
    case trailerValue
    case trailerLineFeed
    case lastLineFeed
    case done
  }

  private let limits: RequestParser.Limits
  private var place = Place.size(digits: 0)
  private var remaining: Int64 = 0
  private var total: Int64 = 0
  private var lineLength = 0
  private var extensions = 0
  private var trailers = 0

  init(limits: RequestParser.Limits) {
    self.limits = limits
  }

  mutating func parse(_ input: Span<UInt8>, at position: inout Int) throws(RequestRefusal) -> Step {
    while position < input.count {
      if case .data = place {
        let taken = Int(min(remaining, Int64(input.count - position)))
        position += taken
        remaining -= Int64(taken)
        if remaining == 0 { place = .dataReturn }
        return .data(position - taken..<position)
      }
      let octet = input[position]
      position += 1
      try take(octet)
      if case .done = place { return .end }
    }
    return .needsInput
  }

  private mutating func take(_ octet: UInt8) throws(RequestRefusal) {
    switch place {
    case .size(let digits): try takeSize(octet, digits: digits)
    case .extensionStart, .extension, .quotation: try takeExtension(octet)
    case .sizeLineFeed:
      try expect(octet, .lineFeed)
      place = remaining > 0 ? .data : .trailerStart
      lineLength = 0
    case .dataReturn:
      try expect(octet, .carriageReturn)
      place = .dataLineFeed
    case .dataLineFeed:
      try expect(octet, .lineFeed)
      place = .size(digits: 0)
    case .trailerStart, .trailerName, .trailerValue, .trailerLineFeed, .lastLineFeed: try takeTrailer(octet)
    case .data, .done: break
    }
  }

  private mutating func takeSize(_ octet: UInt8, digits: Int) throws(RequestRefusal) {
    lineLength += 1
    if let value = octet.hexValue {
      guard digits < 15 else { throw .bodyTooLarge }
      remaining = remaining << 4 | Int64(value)
      place = .size(digits: digits + 1)
      return
    }
    guard digits > 0 else { throw .badRequest("a chunk's size is malformed") }
    total += remaining
    if let limit = limits.bodyBytes, total > limit { throw .bodyTooLarge }
    try takeAfterSize(octet)
  }

  private mutating func takeAfterSize(_ octet: UInt8) throws(RequestRefusal) {
    switch octet {
    case .carriageReturn: place = .sizeLineFeed
    case .semicolon: place = .extensionStart
    // The grammar allows "bad white space" here, also before an extension, but other parsers disagree about it.
    default: throw .badRequest("a chunk's size is malformed")
    }
  }

  private mutating func takeExtension(_ octet: UInt8) throws(RequestRefusal) {
    lineLength += 1
    extensions += 1
    guard lineLength <= Self.longestSizeLine, extensions <= Self.mostExtensions else {
      throw .badRequest("the chunk extensions are too long")
    }
    switch (place, octet) {
    case (.extensionStart, _):
      guard OctetSet.token.contains(octet) else { throw .badRequest("a chunk extension has no name") }
      place = .extension
    case (.extension, .carriageReturn): place = .sizeLineFeed
    case (.extension, .semicolon): place = .extensionStart
    case (.extension, UInt8(ascii: "\"")), (.quotation(isEscaped: true), _): place = .quotation(isEscaped: false)
    case (.quotation(isEscaped: false), UInt8(ascii: "\"")): place = .extension
    case (.quotation(isEscaped: false), UInt8(ascii: "\\")): place = .quotation(isEscaped: true)
    default: break
    }
    guard octet.isFieldContent || isPlaceOfLineFeed else {
      throw .badRequest("a chunk extension holds a control character")
    }
  }

  private var isPlaceOfLineFeed: Bool { if case .sizeLineFeed = place { true } else { false } }

  private mutating func takeTrailer(_ octet: UInt8) throws(RequestRefusal) {
    trailers += 1
    guard trailers <= limits.headerBytes else { throw .headerTooLarge }
    switch place {
    case .trailerStart where octet == .carriageReturn: place = .lastLineFeed
    case .trailerStart:
      guard OctetSet.token.contains(octet) else { throw .badRequest("a trailer field is malformed") }
      place = .trailerName
    case .trailerName where octet == .colon: place = .trailerValue
    case .trailerName:
      guard OctetSet.token.contains(octet) else { throw .badRequest("a trailer field is malformed") }
    case .trailerValue where octet == .carriageReturn: place = .trailerLineFeed
    case .trailerValue:
      guard octet.isFieldContent else { throw .badRequest("a trailer field is malformed") }
    case .trailerLineFeed:
      try expect(octet, .lineFeed)
      place = .trailerStart
    default:
      try expect(octet, .lineFeed)
      place = .done
    }
  }

  private func expect(_ octet: UInt8, _ expected: UInt8) throws(RequestRefusal) {
    guard octet == expected else { throw .badRequest("the chunked coding is malformed") }
  }
}
