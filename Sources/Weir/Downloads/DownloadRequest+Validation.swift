import Foundation
import FoundationNetworking
import Synchronization

extension DownloadRequest {
  /// Adds a validation; validations run in the order added, up to the first failure.
  @preconcurrency
  @discardableResult
  public func validate(_ validation: @escaping Validation) -> Self {
    add(
      .custom { input in
        guard let response = input.response.response else { return nil }
        guard case .failure(let error) = validation(input.urlRequest, response, input.fileURL) else { return nil }
        return error.asWeirError(or: .responseValidationFailed(reason: .customValidationFailed(error: error)))
      })
  }

  /// Accepts only these status codes.
  @preconcurrency
  @discardableResult
  public func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
    add(
      .custom { input in
        ResponseValidation.failure(status: input.response.statusCode, acceptable: acceptable)
          .map { .responseValidationFailed(reason: $0) }
      })
  }

  /// Accepts only these content types; `*` stands for any type or subtype. An empty file always passes.
  @preconcurrency
  @discardableResult
  public func validate<Types: Sequence<String> & SendableMetatype>(
    contentType acceptable: @escaping @Sendable @autoclosure () -> Types
  ) -> Self {
    add(.custom { input in input.typeFailure(acceptable()) })
  }

  /// Accepts status codes 200 to 299 and what the request's `Accept` field accepts.
  @discardableResult
  public func validate() -> Self {
    add(.successStatus).add(
      .custom { input in
        let accept = input.urlRequest?.value(forHTTPHeaderField: "Accept")
        return input.typeFailure(accept.map { ResponseValidation.acceptableTypes(accept: $0) } ?? ["*/*"])
      })
  }
}

extension ValidationInput {
  /// Of a download.
  var fileURL: URL? { (request as? DownloadRequest)?.fileURL }

  fileprivate func typeFailure(_ acceptable: some Sequence<String>) -> WeirError? {
    let reason: ResponseValidation.Failure?
    switch fileIsEmpty {
    case .failure(let failure): reason = failure.reason
    case .success(let isEmpty):
      reason = ResponseValidation.failure(
        contentType: response.value(forHeader: "Content-Type"), acceptable: acceptable, isBodyEmpty: isEmpty)
    }
    return reason.map { .responseValidationFailed(reason: $0) }
  }

  /// The file was looked at when it was moved: here nothing is read.
  private var fileIsEmpty: Result<Bool, ResponseValidation.FileFailure> {
    let known = (request as? DownloadRequest)?.result.withLock { ($0.fileURL, $0.fileSize) }
    guard let fileURL = known?.0 else { return .failure(ResponseValidation.FileFailure(reason: .dataFileNil)) }
    guard let size = known?.1 else {
      return .failure(ResponseValidation.FileFailure(reason: .dataFileReadFailed(at: fileURL)))
    }
    return .success(size == 0)
  }
}
