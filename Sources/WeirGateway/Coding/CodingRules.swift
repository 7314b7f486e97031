import WeirCompression
import WeirHTTP
import WeirServer

/// What becomes of a response's content coding.
struct ResponseTreatment: Equatable {
  enum Work: Equatable {
    case none
    case gzip
    case decode([ContentCoding])
  }

  var work = Work.none
  /// Whether the response depends on the client's Accept-Encoding, which caches must know.
  var varies = false
}

/// What becomes of a request's content coding.
enum RequestTreatment: Equatable {
  case none
  case decode([ContentCoding])
  /// The body has a coding that can't be removed.
  case unknown
}

extension CompressionRules {
  /// - Parameter accepted: The codings that the client accepts; asked for only if they matter.
  func treatment(of response: ResponseFacts, for accepted: @autoclosure () -> AcceptedCodings) -> ResponseTreatment {
    let isCoded = response.codings != []
    let mayBeDecoded = decodesResponses && isCoded && response.codings != nil
    var treatment = ResponseTreatment(varies: response.isOfTypes || mayBeDecoded)
    guard response.mayBeChanged else { return treatment }
    if mayBeDecoded, let codings = response.codings {
      if !accepted().reads(codings) { treatment.work = .decode(codings) }
    } else if !isCoded, response.isOfTypes, isWorthwhile(response), accepted().prefersGzip {
      treatment.work = .gzip
    }
    return treatment
  }

  private func isWorthwhile(_ response: ResponseFacts) -> Bool {
    guard case .length(let length)? = response.length else { return true }
    return length >= minimumBytes
  }

  /// - Parameter codings: The codings of the body, nil if one of them is unknown.
  func treatment(ofRequest codings: [ContentCoding]?, forbidsChanges: Bool) -> RequestTreatment {
    guard decodesRequests, codings != [], !forbidsChanges else { return .none }
    return codings.map { .decode($0) } ?? .unknown
  }
}

extension AcceptedCodings {
  /// Whether the client accepts every one of these codings.
  fileprivate func reads(_ codings: [ContentCoding]) -> Bool {
    codings.allSatisfy {
      switch $0 {
      case .gzip: gzip > .none
      case .deflate: deflate > .none
      }
    }
  }
}

/// The facts in a response's head that decide about its content coding.
struct ResponseFacts {
  var status: Int
  var isToHead = false
  /// Whether the client speaks HTTP/1.0.
  var isToHTTP10 = false
  /// Whether the route compresses responses of this type.
  var isOfTypes = false
  /// The codings that the body has, in the order in which they were applied; nil if one of them is unknown.
  var codings: [ContentCoding]? = []
  var hasRange = false
  var forbidsChanges = false
  /// Nil if the framing is contradictory.
  var length: BodyLength? = .chunked
}

extension ResponseFacts {
  static func join(_ left: [ContentCoding]?, _ right: [ContentCoding]?) -> [ContentCoding]? {
    guard let left, let right, left.count + right.count <= ContentCoding.maximumCount else { return nil }
    return left + right
  }

  /// Whether the body could have another coding on its way to the client.
  var mayBeChanged: Bool {
    if isToHTTP10 || isToHead || hasRange || forbidsChanges { return false }
    switch (status, length) {
    case (204, _), (206, _), (304, _), (_, nil), (_, BodyLength.none?), (_, .length(0)?): return false
    default: return status >= 200
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether a value of Cache-Control has `no-transform` (RFC 9111 §5.2.2.6).
  var forbidsChanges: Bool { listElements.contains { $0.spells("no-transform") } }
}
