import Synchronization

/// One check of a response. It gets the raw head, so that no `HTTPURLResponse` is built for what doesn't need one.
enum Validator: Sendable {
  /// The two of `validate()`, which most requests use.
  case successStatus
  case acceptedContentType
  /// Another rule of weir's own.
  case rule(@Sendable (ValidationInput) -> ResponseValidation.Failure?)
  /// A closure that the caller has given.
  case custom(@Sendable (ValidationInput, HTTPURLResponse) -> Request.ValidationResult)

  /// Those of `validate()`; kept, so that most requests share one array.
  static let usual: [Validator] = [.successStatus, .acceptedContentType]

  /// Nil when the response passes.
  func failure(_ input: ValidationInput) -> WeirError? {
    let reason: ResponseValidation.Failure?
    switch self {
    case .successStatus: reason = input.failure(status: ResponseValidation.defaultStatusCodes)
    case .acceptedContentType: reason = input.acceptFailure
    case .rule(let rule): reason = rule(input)
    case .custom(let validation):
      guard let response = input.response.response,
        case .failure(let error) = validation(input, response)
      else { return nil }
      return error.asWeirError(or: .responseValidationFailed(reason: .customValidationFailed(error: error)))
    }
    return reason.map { .responseValidationFailed(reason: $0) }
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
      for result in results {
        switch input.request {
        case let request as DataRequest:
          monitors.request(
            request, didValidateRequest: urlRequest, response: response, data: request.data, withResult: result)
        case let request as DownloadRequest:
          monitors.request(
            request, didValidateRequest: urlRequest, response: response, fileURL: request.fileURL, withResult: result)
        case let request as DataStreamRequest:
          monitors.request(request, didValidateRequest: urlRequest, response: response, withResult: result)
        default: break
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
  var fileURL: URL? { (request as? DownloadRequest)?.fileURL }

  /// The reason why the status is refused; nil if it is one of those given.
  func failure(status acceptable: some Sequence<Int>) -> ResponseValidation.Failure? {
    ResponseValidation.failure(status: response.statusCode, acceptable: acceptable)
  }

  /// The reason why the content type is refused; nil if it is one of those given, or the body is empty.
  func failure(contentType acceptable: some Sequence<String>) -> ResponseValidation.Failure? {
    failure { ResponseValidation.failure(contentType: contentType, acceptable: acceptable, isBodyEmpty: $0) }
  }

  /// The reason why the content type is refused; nil if the request's `Accept` field asks for it. Without that field any
  /// type passes, but a download still needs its file.
  var acceptFailure: ResponseValidation.Failure? {
    let accept = urlRequest?.value(forHTTPHeaderField: "Accept")
    guard accept != nil || request is DownloadRequest else { return nil }
    return failure { ResponseValidation.failure(contentType: contentType, accept: accept, isBodyEmpty: $0) }
  }

  private var contentType: String? { response.value(forHeader: "Content-Type") }

  private func failure(
    _ rule: (_ isBodyEmpty: Bool) -> ResponseValidation.Failure?
  ) -> ResponseValidation.Failure? {
    switch request {
    case let request as DownloadRequest:
      // The file was looked at when it was moved: nothing is read here.
      let (fileURL, size) = request.result.withLock { ($0.fileURL, $0.fileSize) }
      return ResponseValidation.failure(ofFile: fileURL, size: size, rule)
    // The handlers have its body by now. Its type counts whether there was one or not.
    case is DataStreamRequest: return rule(false)
    default: return rule(data?.isEmpty ?? true)
    }
  }
}

extension Request {
  func add(_ validator: Validator) -> Self {
    fields.withLock { $0.validators.append(validator) }
    return self
  }

  /// Adds the validators of `validate()`.
  func addUsualValidators() -> Self {
    fields.withLock { fields in
      if fields.validators.isEmpty { fields.validators = Validator.usual } else { fields.validators += Validator.usual }
    }
    return self
  }
}
