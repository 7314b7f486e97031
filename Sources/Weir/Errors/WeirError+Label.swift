import Foundation
import FoundationNetworking

extension WeirError {
  /// A word for this error, fit for a metric: from a closed list, without any text of the request or the network.
  package var label: String {
    switch self {
    case .createUploadableFailed: "create_uploadable_failed"
    case .createURLRequestFailed: "create_url_request_failed"
    case .downloadedFileMoveFailed: "downloaded_file_move_failed"
    case .explicitlyCancelled: "explicitly_cancelled"
    case .invalidURL: "invalid_url"
    case .multipartEncodingFailed(let reason): reason.label
    case .parameterEncodingFailed(let reason): reason.label
    case .parameterEncoderFailed(let reason): reason.label
    case .requestAdaptationFailed: "request_adaptation_failed"
    case .requestRejected(let reason): reason.label
    case .requestRetryFailed: "request_retry_failed"
    case .responseValidationFailed(let reason): reason.label
    case .responseSerializationFailed(let reason): reason.label
    case .serverTrustEvaluationFailed(let reason): reason.label
    case .sessionDeinitialized: "session_deinitialized"
    case .sessionInvalidated: "session_invalidated"
    case .sessionTaskFailed(let error): (error as? URLError).map(\.code.label) ?? "session_task_failed"
    case .urlRequestValidationFailed(let reason): reason.label
    }
  }
}
