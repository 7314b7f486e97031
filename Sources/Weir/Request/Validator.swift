import Synchronization

/// One check of a response. It gets the raw head, so that no `HTTPURLResponse` is built unless a check needs it.
enum Validator: Sendable {
  /// The two checks of `validate()`, which most requests use.
  case successStatus
  case acceptedContentType
  /// Another rule of weir's own.
  case rule(@Sendable (ValidationInput) -> ResponseValidation.Failure?)
  /// A closure of the caller's.
  case custom(@Sendable (ValidationInput, HTTPURLResponse) -> Request.ValidationResult)

  /// The validators of `validate()`, kept so that most requests share one array.
  static let usual: [Validator] = [.successStatus, .acceptedContentType]

  /// The error of a response that does not pass; nil if it passes.
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

  /// The result of validators that run in order up to the first failure.
  struct Verdict: Sendable {
    var failure: WeirError?
    /// The number of validators that have run.
    var count = 0

    init(of validators: [Validator], about input: ValidationInput) {
      for validator in validators where failure == nil {
        failure = validator.failure(input)
        count += 1
      }
    }

    /// Tells monitors each validator's result. Called on the loop.
    func announce(_ input: ValidationInput, to monitors: CompositeEventMonitor) {
      guard count > 0, let response = input.response.response else { return }
      // Read now: when a queued monitor gets the result, another attempt may be under way.
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

    /// The result of each validator that has run: all have passed except perhaps the last.
    private var results: [Request.ValidationResult] {
      (0..<count).map { index in
        (index == count - 1 ? failure : nil).map { .failure($0) } ?? .success(())
      }
    }
  }
}

/// The input of validators. Most need no more than the head, so the rest is read from the request only when asked for.
struct ValidationInput: Sendable {
  let request: Request
  let response: LazyHTTPResponse

  var urlRequest: URLRequest? { hop?.urlRequest }
  private var hop: HopRequest? { request.fields.withLock { $0.last(\.hop) } }
  var data: Data? { request.fields.withLock { $0.data } }
  var fileURL: URL? { (request as? DownloadRequest)?.fileURL }

  /// The reason for refusing the status; nil if it is one of those given.
  func failure(status acceptable: some Sequence<Int>) -> ResponseValidation.Failure? {
    ResponseValidation.failure(status: response.statusCode, acceptable: acceptable)
  }

  /// The reason for refusing the content type; nil if it is one of those given, or the body is empty.
  func failure(contentType acceptable: some Sequence<String>) -> ResponseValidation.Failure? {
    failure { ResponseValidation.failure(contentType: contentType, acceptable: acceptable, isBodyEmpty: $0) }
  }

  /// The reason for refusing the content type; nil if the request's `Accept` field allows it. Without that field any
  /// type passes, but a download still needs its file.
  var acceptFailure: ResponseValidation.Failure? {
    let accept = hop?.value(forHeader: "Accept")
    guard accept != nil || request is DownloadRequest else { return nil }
    return failure { ResponseValidation.failure(contentType: contentType, accept: accept, isBodyEmpty: $0) }
  }

  private var contentType: String? { response.value(forHeader: "Content-Type") }

  private func failure(
    _ rule: (_ isBodyEmpty: Bool) -> ResponseValidation.Failure?
  ) -> ResponseValidation.Failure? {
    switch request {
    case let request as DownloadRequest:
      // The file's size was read when the file was moved, so nothing is read from disk here.
      let (fileURL, size) = request.result.withLock { ($0.fileURL, $0.fileSize) }
      return ResponseValidation.failure(ofFile: fileURL, size: size, rule)
    // The stream's handlers have taken the body by now, so its content type is checked whether or not there was a body.
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

  func addUsualValidators() -> Self {
    fields.withLock { fields in
      if fields.validators.isEmpty { fields.validators = Validator.usual } else { fields.validators += Validator.usual }
    }
    return self
  }
}
