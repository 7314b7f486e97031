import WeirTransport

/// The treatment of addresses that are in no list, as files and flags name it.
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
