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
