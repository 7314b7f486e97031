import Synchronization

/// A response whose head is there, and whose body is read as it comes; see ``DataStreamRequest/streaming()``.
public struct StreamedResponse: Sendable {
  /// The head: status and header fields.
  public let head: HTTPURLResponse
  /// The body, to be iterated over once.
  public let body: Body

  /// The chunks of a body as they arrive, decoded if they had a content coding.
  ///
  /// The iteration throws the request's error as a ``RequestFailure``; a body that ends without one is whole. Leaving the
  /// loop, cancelling its task, and dropping a body that was not read to its end cancel the request.
  public struct Body: AsyncSequence, Sendable {
    fileprivate let request: DataStreamRequest
    fileprivate let reader: Reader

    public func makeAsyncIterator() -> Iterator {
      Iterator(request: request, reader: reader, events: reader.events.makeAsyncIterator())
    }
  }

  /// Takes the chunks out.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let request: DataStreamRequest
    fileprivate let reader: Reader
    fileprivate var events: DataStreamTask.Stream<Data, Never>.Iterator
    private var isOver = false

    fileprivate init(
      request: DataStreamRequest, reader: Reader, events: DataStreamTask.Stream<Data, Never>.Iterator
    ) {
      self.request = request
      self.reader = reader
      self.events = events
    }

    public mutating func next() async throws -> Data? {
      if isOver { return nil }
      switch await events.next()?.event {
      case .stream(.success(let chunk))?: return chunk
      case .complete(let completion)?:
        isOver = true
        if let error = completion.error { throw RequestFailure(error, of: request) }
        return nil
      case nil:
        // A stream ends without `.complete` only in a cancelled task.
        isOver = true
        request.cancel()
        throw RequestFailure(.explicitlyCancelled, of: request)
      }
    }
  }

  /// The caller's interest in the body: the request is cancelled when its last copy is gone.
  fileprivate final class Reader: Sendable {
    private let request: DataStreamRequest
    let events: DataStreamTask.Stream<Data, Never>

    init(_ request: DataStreamRequest, _ events: DataStreamTask.Stream<Data, Never>) {
      self.request = request
      self.events = events
    }

    deinit { request.cancel() }
  }
}

extension DataStreamRequest {
  /// Returns once the response's head has come; the body follows as it is read.
  ///
  /// ```swift
  /// let response = try await session.streamRequest(url).validate().streaming()
  /// for try await chunk in response.body { try file.write(contentsOf: chunk) }
  /// ```
  ///
  /// Calling this adds a handler, so automatic resuming applies then. Call it once, before the request has begun.
  /// Validators judge the head before it is returned, and retriers are asked about failures up to then. After that no
  /// other attempt is made, and the iteration over the body throws what fails. At most 1 MiB waits to be read; then the
  /// server waits. The request's deadline holds until the body has ended. Cancelling the calling task cancels the request.
  ///
  /// - Throws: A ``RequestFailure`` if the request ends before the head.
  public func streaming() async throws -> StreamedResponse {
    let box = ResponseBox()
    guard streaming.withLock({ $0.head.wait { box.fulfill(Awaited($0)) } }) else {
      throw RequestFailure(StreamState.Head.missing, of: self)
    }
    let events = streamTask().streamingData()
    addHandler(.endingHead())
    return try await withTaskCancellationHandler {
      let reader = StreamedResponse.Reader(self, events)
      // The box is filled by the closure above, so the head has this type.
      let awaited = unsafeDowncast(await box.response, to: Awaited<Result<HTTPURLResponse, WeirError>>.self)
      return StreamedResponse(
        head: try awaited.response.value(of: self),
        body: StreamedResponse.Body(request: self, reader: reader))
    } onCancel: {
      cancel()
    }
  }
}
