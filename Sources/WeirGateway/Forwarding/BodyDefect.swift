import WeirTransport

/// Why a request's body is not taken.
enum BodyDefect {
  case tooSlow
  /// It is not valid in its content coding.
  case broken
  /// It is too large once it is decoded.
  case tooLarge
  /// It is larger than the route takes, as it came or once it is decoded.
  case overLimit
  /// There is no room to decode it.
  case crowded

  var answer: GatewayAnswer {
    switch self {
    case .tooSlow: .slowBody
    case .broken: .brokenBody
    case .tooLarge: .bodyTooLarge
    case .overLimit: .bodyOverLimit
    case .crowded: .tooManyCodedBodies
    }
  }

  var outcome: GatewayOutcome {
    switch self {
    case .tooSlow: .bodyTimeout
    case .broken, .tooLarge: .refused
    case .overLimit: .tooLarge
    case .crowded: .forwarded(.rejected)
    }
  }
}
