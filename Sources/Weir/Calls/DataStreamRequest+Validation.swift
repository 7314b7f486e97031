public import Dispatch

// Validators run when the body has ended; the handlers have the received chunks by then.
extension DataStreamRequest {
  /// Adds a validation. Validations run in the order in which they were added, up to the first failure.
  @preconcurrency
  @discardableResult
  public func validate(_ validation: @escaping Validation) -> Self {
    add(.custom { validation($0.urlRequest, $1) })
  }

  /// Accepts only these status codes.
  @preconcurrency
  @discardableResult
  public func validate(statusCode acceptable: some Sequence<Int> & Sendable) -> Self {
    add(.rule { $0.failure(status: acceptable) })
  }

  /// Accepts only these content types; `*` stands for any type or subtype. The type of an empty body is checked too.
  @preconcurrency
  @discardableResult
  public func validate<Types: Sequence<String> & SendableMetatype>(
    contentType acceptable: @escaping @Sendable @autoclosure () -> Types
  ) -> Self {
    add(.rule { $0.failure(contentType: acceptable()) })
  }

  /// Accepts status codes 200 to 299 and content types that the request's `Accept` field accepts.
  @discardableResult
  public func validate() -> Self { addUsualValidators() }

  /// Calls back with the final response's head before its body is received; the body waits until the closure answers.
  /// Only the last closure set counts. Without `queue`, the closure runs on the request's handler queue.
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
    observeResponses(on: HandlerQueue(queue), handler)
  }

  /// Calls back with the final response's head, before its body is received.
  @preconcurrency
  @discardableResult
  public func onHTTPResponse(
    on queue: DispatchQueue? = nil, perform handler: @escaping @Sendable (HTTPURLResponse) -> Void
  ) -> Self {
    observeResponses(on: HandlerQueue(queue), handler)
  }

  /// Calls back with the final response's head, before its body is received; the body waits until the closure returns.
  @preconcurrency
  @discardableResult
  public func onHTTPResponse(perform handler: @escaping @Sendable (HTTPURLResponse) async -> Void) -> Self {
    observeResponses { response in
      await handler(response)
      return .allow
    }
  }

  /// Calls back with the final response's head before its body is received; the body waits until the closure answers.
  /// `.cancel` cancels the request. The closure's task is not cancelled with the request.
  @preconcurrency
  @_disfavoredOverload
  @discardableResult
  public func onHTTPResponse(
    perform handler: @escaping @Sendable (HTTPURLResponse) async -> ResponseDisposition
  ) -> Self {
    observeResponses(inTask: handler)
  }

  /// The head of every attempt's final response, before its body is received.
  public func httpResponses(
    bufferingPolicy: StreamOf<HTTPURLResponse>.BufferingPolicy = .unbounded
  ) -> StreamOf<HTTPURLResponse> {
    streamResponses(bufferingPolicy)
  }
}
