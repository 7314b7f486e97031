// Each stream takes the place of the closure of its kind, and ends when the request settles or another closure or
// stream takes its place in turn. Values come straight from the event loop.
extension Request {
  /// ``uploadProgress`` whenever bytes have gone out.
  public func uploadProgress(
    bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
  ) -> StreamOf<Progress> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observe(\.uploadProgress, RequestObserver({ feed.yield($0) }, on: .inline))
    }
  }

  /// ``downloadProgress`` whenever bytes have come in.
  public func downloadProgress(
    bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
  ) -> StreamOf<Progress> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observe(\.downloadProgress, RequestObserver({ feed.yield($0) }, on: .inline))
    }
  }

  /// The adapted URL request of every attempt, the latest at once if there is one.
  public func urlRequests(
    bufferingPolicy: StreamOf<URLRequest>.BufferingPolicy = .unbounded
  ) -> StreamOf<URLRequest> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observeURLRequests(RequestObserver({ feed.yield($0) }, on: .inline))
    }
  }

  /// The task of every attempt, the latest at once if there is one.
  public func urlSessionTasks(
    bufferingPolicy: StreamOf<TransferTask>.BufferingPolicy = .unbounded
  ) -> StreamOf<TransferTask> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observeTasks(RequestObserver({ feed.yield($0) }, on: .inline))
    }
  }

  /// The redacted command line of every attempt, the latest at once if there is one.
  public func cURLDescriptions(
    bufferingPolicy: StreamOf<String>.BufferingPolicy = .unbounded
  ) -> StreamOf<String> {
    StreamOf(bufferingPolicy: bufferingPolicy) { feed in
      observeDescriptions(CURLObserver(handler: { feed.yield($0) }, queue: .inline, isForEachAttempt: true))
    }
  }
}

extension DataRequest {
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

  /// Calls back with the final response's head, before its body is received; the body waits for the answer, and
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
