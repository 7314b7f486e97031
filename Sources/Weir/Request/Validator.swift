import Foundation
import FoundationNetworking
import Synchronization

/// One check of a response. It gets the raw head, so that no `HTTPURLResponse` is built for what doesn't need one.
enum Validator: Sendable {
  /// The two of `validate()`, which most requests use.
  case successStatus
  case acceptedContentType
  case custom(@Sendable (ValidationInput) -> WeirError?)

  /// Those of `validate()`; kept, so that most requests share one array.
  static let usual: [Validator] = [.successStatus, .acceptedContentType]

  /// Nil when the response passes.
  func failure(_ input: ValidationInput) -> WeirError? {
    switch self {
    case .successStatus:
      ResponseValidation.failure(
        status: input.response.statusCode, acceptable: ResponseValidation.defaultStatusCodes
      ).map { .responseValidationFailed(reason: $0) }
    case .acceptedContentType:
      ResponseValidation.failure(
        contentType: input.response.value(forHeader: "Content-Type"),
        accept: input.urlRequest?.value(forHTTPHeaderField: "Accept"), isBodyEmpty: input.data?.isEmpty ?? true
      ).map { .responseValidationFailed(reason: $0) }
    case .custom(let check): check(input)
    }
  }

  /// What validators said, run in order up to the first failure.
  struct Verdict: Sendable {
    var failure: WeirError?
    /// How many have run.
    var count = 0

    init(of validators: [Validator], about input: ValidationInput) {
      for validator in validators where failure == nil {
        failure = validator.failure(input)
        count += 1
      }
    }

    /// Tells monitors of each validator's result. On the loop.
    func announce(_ input: ValidationInput, to monitors: CompositeEventMonitor) {
      guard count > 0, let response = input.response.response else { return }
      // As they are now: when a queued monitor hears of it, another attempt may be under way.
      let urlRequest = input.urlRequest
      if let request = input.request as? DataRequest {
        let data = input.data
        for result in results {
          monitors.request(
            request, didValidateRequest: urlRequest, response: response, data: data, withResult: result)
        }
      } else if let request = input.request as? DownloadRequest {
        let fileURL = request.fileURL
        for result in results {
          monitors.request(
            request, didValidateRequest: urlRequest, response: response, fileURL: fileURL, withResult: result)
        }
      } else if let request = input.request as? DataStreamRequest {
        for result in results {
          monitors.request(request, didValidateRequest: urlRequest, response: response, withResult: result)
        }
      }
    }

    /// Of each that has run: all have passed but for the last one.
    private var results: [Request.ValidationResult] {
      (0..<count).map { index in
        (index == count - 1 ? failure : nil).map { .failure($0) } ?? .success(())
      }
    }
  }
}

/// What validators look at. The rest is the request's: most have no need of it.
struct ValidationInput: Sendable {
  let request: Request
  let response: LazyHTTPResponse

  var urlRequest: URLRequest? { request.lastRequest }
  var data: Data? { request.fields.withLock { $0.data } }
}

extension Request {
  func add(_ validator: Validator) -> Self {
    fields.withLock { $0.validators.append(validator) }
    return self
  }
}

extension DataRequest {
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

  /// Accepts only these content types; `*` stands for any type or subtype. An empty body always passes.
  @preconcurrency
  @discardableResult
  public func validate<Types: Sequence<String> & SendableMetatype>(
    contentType acceptable: @escaping @Sendable @autoclosure () -> Types
  ) -> Self {
    add(
      .custom { input in
        ResponseValidation.failure(
          contentType: input.response.value(forHeader: "Content-Type"), acceptable: acceptable(),
          isBodyEmpty: input.data?.isEmpty ?? true
        ).map { .responseValidationFailed(reason: $0) }
      })
  }

  /// Accepts status codes 200 to 299 and what the request's `Accept` field accepts.
  @discardableResult
  public func validate() -> Self {
    fields.withLock { fields in
      if fields.validators.isEmpty { fields.validators = Validator.usual } else { fields.validators += Validator.usual }
    }
    return self
  }
}
