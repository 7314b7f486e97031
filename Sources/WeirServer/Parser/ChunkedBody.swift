import WeirHTTP

/// Removes the chunked coding from the body of a request, and says why one is refused.
struct ChunkedBody {
  private var coding: ChunkedCoding

  init(limits: RequestParser.Limits) {
    coding = ChunkedCoding(
      maximumContent: limits.bodyBytes ?? .max, maximumTrailers: limits.headerBytes, isTolerant: false)
  }

  mutating func parse(_ input: Span<UInt8>, at position: inout Int) throws(RequestRefusal) -> ChunkedCoding.Step {
    do throws(ChunkedCoding.Defect) {
      return try input.withUnsafeBytes { (input) throws(ChunkedCoding.Defect) in
        try coding.parse(input, at: &position)
      }
    } catch {
      throw RequestRefusal(error)
    }
  }
}

extension RequestRefusal {
  fileprivate init(_ defect: ChunkedCoding.Defect) {
    switch defect {
    case .size: self = .badRequest("a chunk's size is malformed")
    // A number that no body can have is malformed, as nginx and haproxy say too.
    case .sizeTooGreat: self = .badRequest("a chunk's size has too many digits")
    case .contentTooGreat: self = .bodyTooLarge
    case .extensionName: self = .badRequest("a chunk extension has no name")
    case .extensionControl: self = .badRequest("a chunk extension holds a control character")
    case .extensionsTooLong: self = .badRequest("the chunk extensions are too long")
    case .lineEnd: self = .badRequest("the chunked coding is malformed")
    case .trailer: self = .badRequest("a trailer field is malformed")
    case .trailersTooLarge: self = .headerTooLarge
    }
  }
}
