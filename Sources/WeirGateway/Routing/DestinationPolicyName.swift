import WeirTransport

/// What becomes of addresses that no list names, as files and flags say it.
enum DestinationPolicyName: String, CaseIterable {
  case any
  case publicOnly
  case none

  static let list = allCases.map(\.rawValue).joined(separator: ", ")

  var otherwise: DestinationPolicy.Otherwise {
    switch self {
    case .any: .allowed
    case .publicOnly: .publicOnly
    case .none: .refused
    }
  }
}
