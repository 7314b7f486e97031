public import Dispatch
import Foundation
public import FoundationNetworking

// Validators run when the body has ended: what was received is with the handlers by then.
extension DataStreamRequest {
  /// Adds a validation; validations run in the order added, up to the first failure.
  @preconcurrency
  @discardableResult
  public func validate(_ validation: @escaping Validation) -> Self {
    add(
      .custom { input in
        guard let response = input.response.response else { return nil }
        guard case .failure(let error) = validation(input.urlRequest, response) else { return nil }
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

  /// Accepts only these content types; `*` stands for any type or subtype. Also that of an empty body is looked at.
  @preconcurrency
  @discardableResult
  public func validate<Types: Sequence<String> & SendableMetatype>(
    contentType acceptable: @escaping @Sendable @autoclosure () -> Types
  ) -> Self {
    add(
      .custom { input in
        ResponseValidation.failure(
          contentType: input.response.value(forHeader: "Content-Type"), acceptable: acceptable(), isBodyEmpty: false
        ).map { .responseValidationFailed(reason: $0) }
      })
  }

  /// Accepts status codes 200 to 299 and what the request's `Accept` field accepts.
  @discardableResult
  public func validate() -> Self {
    validate(statusCode: ResponseValidation.defaultStatusCodes)
      .add(
        .custom { input in
          ResponseValidation.failure(
            contentType: input.response.value(forHeader: "Content-Type"),
            accept: input.urlRequest?.value(forHTTPHeaderField: "Accept"), isBodyEmpty: false
          ).map { .responseValidationFailed(reason: $0) }
        })
  }
}

extension DataStreamRequest {
  /// Calls back with the final response's head, before its body is received; the body waits for the answer. Only the
  /// last closure counts. Without a queue: the request's handler queue.
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func onHTTPResponse(
    on queue: DispatchQueue? = nil,
    perform handler:
      @escaping @Sendable (
        HTTPURLResponse, _ completionHandler: @escaping @Sendable (ResponseDisposition) -> Void
      ) -> Void
  ) -> Self {
    observe(\.httpResponse, RequestObserver(handler, on: HandlerQueue(queue)))
    return self
  }

  /// Calls back with the final response's head, before its body is received.
  @preconcurrency
  @discardableResult
  public func onHTTPResponse(
    on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (HTTPURLResponse) -> Void
  ) -> Self {
    onHTTPResponse(on: queue) { response, completion in
      handler(response)
      completion(.allow)
    }
  }

  /// Calls back with the final response's head, before its body is received; the body waits until the closure returns.
  @preconcurrency
  @discardableResult
  public func onHTTPResponse(perform handler: @escaping @Sendable (HTTPURLResponse) async -> Void) -> Self {
    onHTTPResponse { response -> ResponseDisposition in
      await handler(response)
      return .allow
    }
  }

  /// Calls back with the final response's head, before its body is received; the body waits for the answer, and
  /// `.cancel` cancels the request. The closure's task is not cancelled with the request.
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func onHTTPResponse(
    perform handler: @escaping @Sendable (HTTPURLResponse) async -> ResponseDisposition
  ) -> Self {
    observe(
      \.httpResponse,
      RequestObserver(
        { response, completion in Task { completion(await handler(response)) } }, on: .inline))
    return self
  }

  /// The head of every attempt's final response, before its body is received.
  public func httpResponses(
    bufferingPolicy: StreamOf<HTTPURLResponse>.BufferingPolicy = .unbounded
  ) -> StreamOf<HTTPURLResponse> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observe(
        \.httpResponse,
        RequestObserver(
          { response, completion in
            feed.yield(response)
            completion(.allow)
          }, on: .inline))
    }
  }
}
