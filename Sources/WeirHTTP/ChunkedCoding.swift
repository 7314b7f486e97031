/// Removes the chunked coding from a body (RFC 9112 §7.1), for requests and responses alike. Extensions and trailer
/// fields are checked, bounded and dropped.
///
/// Extensions are bounded by the line of their chunk, and by their share of the body: each chunk earns as many octets as
/// it has content, and a few more, and the unused ones are kept up to a limit. So a stream whose chunks all have a short
/// extension goes on for ever, and one that is nearly nothing but extensions ends soon.
@usableFromInline
package struct ChunkedCoding: Sendable {
  package enum Step: Sendable {
    /// A piece of the content, as a range of the input.
    case data(Range<Int>)
    case end
    case needsInput
  }

  /// How chunks are malformed, in words.
  @usableFromInline
  package enum Defect: String, Error, Hashable, Sendable {
    /// A size is not a hexadecimal number that the line's end or an extension follows.
    case size = "a malformed size of a chunk"
    /// A size does not fit an Int64, or has more digits than the greatest one.
    case sizeTooGreat = "a size of a chunk with too many digits"
    /// The content exceeds its limit.
    case contentTooGreat = "more content than can be counted"
    case extensionName = "a chunk extension without a name"
    case extensionControl = "a control character in a chunk extension"
    case extensionsTooLong = "chunk extensions that are too long"
    /// CR LF is missing behind a size or a chunk's content.
    case lineEnd = "no CR LF where a line or a chunk must end"
    case trailer = "a malformed trailer field"
    case trailersTooLarge = "trailer fields that are too large"
  }

  /// The limit of octets in the line with a chunk's size. A peer can add no more than that to each chunk.
  package static let longestSizeLine = 256
  /// The octets of extensions that a body may have before its chunks have earned any, and the most that it may save up.
  package static let mostExtensions = 16 * 1024
  /// The octets of extensions that a chunk earns besides those for its content.
  private static let earnedByChunk = 16
  private static let mostDigits = 16

  private enum Place {
    case size(digits: Int)
    /// Behind a size and a blank.
    case sizeBlank
    /// Behind a semicolon, where a name must begin, unless the coding is tolerant.
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

  private let maximumContent: Int64
  private let maximumTrailers: Int
  private let isTolerant: Bool
  private var place = Place.size(digits: 0)
  private var remaining: Int64 = 0
  private var total: Int64 = 0
  private var lineLength = 0
  /// The octets of extensions that may come before the next chunk.
  private var extensionRoom = Self.mostExtensions
  private var trailers = 0

  /// - Parameters:
  ///   - maximumContent: The limit of octets in all chunks.
  ///   - maximumTrailers: The limit of octets from the first trailer field to the last octet of the coding.
  ///   - isTolerant: Whether blanks may follow a size, and extensions may lack a name. Old servers pad their sizes, and a
  ///     response is framed anew for its receiver. In a request it may be a way to show two readers different chunks.
  package init(maximumContent: Int64 = .max, maximumTrailers: Int, isTolerant: Bool) {
    self.maximumContent = maximumContent
    self.maximumTrailers = maximumTrailers
    self.isTolerant = isTolerant
  }

  /// The number of octets of trailer fields so far, with the line that ends them if there are any fields.
  package var trailerOctets: Int { trailers > 2 ? trailers : 0 }

  /// Returns the next step. It consumes input from `position`, which it moves on.
  package mutating func parse(_ input: UnsafeRawBufferPointer, at position: inout Int) throws(Defect) -> Step {
    while position < input.count {
      switch place {
      case .data:
        let taken = Int(min(remaining, Int64(input.count - position)))
        position += taken
        remaining -= Int64(taken)
        if remaining == 0 { place = .dataReturn }
        return .data(position - taken..<position)
      case .dataReturn, .size(digits: 0): try takeUsualFraming(input, at: &position)
      default: break
      }
      guard position < input.count else { break }
      if case .data = place { continue }
      let octet = input[position]
      position += 1
      try take(octet)
      if case .done = place { return .end }
    }
    if case .done = place { return .end }
    return .needsInput
  }

  /// Takes the line end behind a chunk and the line with the next size, each if it is whole and has no extension.
  /// Anything else is left to `take`.
  private mutating func takeUsualFraming(_ input: UnsafeRawBufferPointer, at position: inout Int) throws(Defect) {
    var start = position
    if case .dataReturn = place {
      guard Self.isLineEnd(input, at: start) else { return }
      start += 2
      place = .size(digits: 0)
      position = start
    }
    var size: Int64 = 0
    while start < input.count, start - position < Self.mostDigits - 1, let value = input[start].hexValue {
      size = size << 4 | Int64(value)
      start += 1
    }
    guard start > position, Self.isLineEnd(input, at: start) else { return }
    try count(size)
    remaining = size
    place = size > 0 ? .data : .trailerStart
    position = start + 2
  }

  private static func isLineEnd(_ input: UnsafeRawBufferPointer, at index: Int) -> Bool {
    index + 1 < input.count && input[index] == .carriageReturn && input[index + 1] == .lineFeed
  }

  /// Counts a chunk's size towards the limit of the content, and for its extensions.
  private mutating func count(_ size: Int64) throws(Defect) {
    let (sum, overflow) = total.addingReportingOverflow(size)
    guard !overflow, sum <= maximumContent else { throw .contentTooGreat }
    total = sum
    guard extensionRoom < Self.mostExtensions else { return }
    let earned = Int(min(size, Int64(Self.mostExtensions))) + Self.earnedByChunk
    extensionRoom = min(extensionRoom + earned, Self.mostExtensions)
  }

  private mutating func take(_ octet: UInt8) throws(Defect) {
    switch place {
    case .size(let digits): try takeSize(octet, digits: digits)
    case .sizeBlank, .extensionStart, .extension, .quotation: try takeExtension(octet)
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

  private mutating func takeSize(_ octet: UInt8, digits: Int) throws(Defect) {
    lineLength += 1
    if let value = octet.hexValue {
      guard digits < Self.mostDigits, remaining <= Int64.max >> 4 else { throw .sizeTooGreat }
      remaining = remaining << 4 | Int64(value)
      place = .size(digits: digits + 1)
      return
    }
    guard digits > 0 else { throw .size }
    try count(remaining)
    switch octet {
    case .carriageReturn: place = .sizeLineFeed
    case .semicolon: place = isTolerant ? .extension : .extensionStart
    // "Bad white space" before an extension (RFC 9112 §7.1.1), and padding. Parsers of requests disagree about it.
    case .space where isTolerant, .tab where isTolerant: place = .sizeBlank
    default: throw .size
    }
  }

  private mutating func takeExtension(_ octet: UInt8) throws(Defect) {
    lineLength += 1
    extensionRoom -= 1
    guard lineLength <= Self.longestSizeLine, extensionRoom >= 0 else { throw .extensionsTooLong }
    switch (place, octet) {
    case (.sizeBlank, .carriageReturn): place = .sizeLineFeed
    case (.sizeBlank, .semicolon): place = .extension
    case (.sizeBlank, _): guard octet.isBlank else { throw .size }
    case (.extensionStart, _):
      guard OctetSet.token.contains(octet) else { throw .extensionName }
      place = .extension
    case (.extension, .carriageReturn): place = .sizeLineFeed
    case (.extension, .semicolon): if !isTolerant { place = .extensionStart }
    case (.extension, .quotationMark), (.quotation(isEscaped: true), _): place = .quotation(isEscaped: false)
    case (.quotation(isEscaped: false), .quotationMark): place = .extension
    case (.quotation(isEscaped: false), .backslash): place = .quotation(isEscaped: true)
    default: break
    }
    guard octet.isFieldContent || isPlaceOfLineFeed else { throw .extensionControl }
  }

  private var isPlaceOfLineFeed: Bool { if case .sizeLineFeed = place { true } else { false } }

  private mutating func takeTrailer(_ octet: UInt8) throws(Defect) {
    trailers += 1
    guard trailers <= maximumTrailers else { throw .trailersTooLarge }
    switch place {
    case .trailerStart where octet == .carriageReturn: place = .lastLineFeed
    case .trailerStart:
      guard OctetSet.token.contains(octet) else { throw .trailer }
      place = .trailerName
    case .trailerName where octet == .colon: place = .trailerValue
    case .trailerName:
      guard OctetSet.token.contains(octet) else { throw .trailer }
    case .trailerValue where octet == .carriageReturn: place = .trailerLineFeed
    case .trailerValue:
      guard octet.isFieldContent else { throw .trailer }
    case .trailerLineFeed:
      try expect(octet, .lineFeed)
      place = .trailerStart
    default:
      try expect(octet, .lineFeed)
      place = .done
    }
  }

  private func expect(_ octet: UInt8, _ expected: UInt8) throws(Defect) {
    guard octet == expected else { throw .lineEnd }
  }
}
