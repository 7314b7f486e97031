import Foundation
import FoundationNetworking
import WeirIO
import WeirTransport

extension WeirError: LabelledError {
  /// A word for this error, fit for a metric: from a closed list, without any text of the request or the network.
  ///
  /// It is the name of the error's case, or of its reason's, in snake case, so that a series is found from the code.
  package var label: String {
    switch self {
    case .multipartEncodingFailed(let reason): caseLabel(reason)
    case .parameterEncodingFailed(let reason): caseLabel(reason)
    case .parameterEncoderFailed(let reason): caseLabel(reason)
    case .requestRejected(let reason): reason.rejection.label
    case .responseValidationFailed(let reason): caseLabel(reason)
    case .responseSerializationFailed(let reason): caseLabel(reason)
    case .serverTrustEvaluationFailed(let reason): caseLabel(reason)
    case .sessionTaskFailed(let error as URLError): error.failureCode.label
    case .urlRequestValidationFailed(let reason): caseLabel(reason)
    // The description of a case without a payload begins with this label.
    case .explicitlyCancelled: "explicitly_cancelled"
    case .sessionDeinitialized: "session_deinitialized"
    default: caseLabel(self)
    }
  }
}
