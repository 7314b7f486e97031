// Each stream replaces the request's closure of the same kind. It ends when the request settles, or when another
// closure or stream replaces it. Values come directly from the event loop.
extension Request {
  /// ``uploadProgress``, each time bytes were sent.
  public func uploadProgress(
    bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
  ) -> StreamOf<Progress> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observe(\.uploadProgress, { feed.yield($0) }, on: .inline)
    }
  }

  /// ``downloadProgress``, each time bytes have arrived.
  public func downloadProgress(
    bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
  ) -> StreamOf<Progress> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observe(\.downloadProgress, { feed.yield($0) }, on: .inline)
    }
  }

  /// The adapted URL request of every attempt. If there is one already, the stream begins with the latest.
  public func urlRequests(
    bufferingPolicy: StreamOf<URLRequest>.BufferingPolicy = .unbounded
  ) -> StreamOf<URLRequest> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observeURLRequests(on: .inline) { feed.yield($0) }
    }
  }

  /// The task of every attempt. If there is one already, the stream begins with the latest.
  public func urlSessionTasks(
    bufferingPolicy: StreamOf<TransferTask>.BufferingPolicy = .unbounded
  ) -> StreamOf<TransferTask> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observeTasks(on: .inline) { feed.yield($0) }
    }
  }

  /// The redacted command line of every attempt. If there is one already, the stream begins with the latest.
  public func cURLDescriptions(
    bufferingPolicy: StreamOf<String>.BufferingPolicy = .unbounded
  ) -> StreamOf<String> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observeDescriptions(CURLObserver(handler: { feed.yield($0) }, queue: .inline, isForEachAttempt: true))
    }
  }
}

extension DataRequest {
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

  /// The head of every attempt's final response, before its body is received.
  public func httpResponses(
    bufferingPolicy: StreamOf<HTTPURLResponse>.BufferingPolicy = .unbounded
  ) -> StreamOf<HTTPURLResponse> {
    streamResponses(bufferingPolicy)
  }

  /// Calls back with the final response's head, before its body is received; the body waits until the closure returns.
  @preconcurrency
  @discardableResult
  public func onHTTPResponse(
    perform handler: @escaping @Sendable (HTTPURLResponse) async -> Void
  ) -> Self {
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
}

extension DataStreamRequest {
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
