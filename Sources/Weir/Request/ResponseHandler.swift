import Dispatch
import Synchronization
import WeirIO

/// One response handler of a request: it makes a value and delivers it on a queue.
///
/// The type is not generic, since methods of a generic type would have to find out the kind of value at run time.
struct ResponseHandler: Sendable {
  let queue: HandlerQueue
  /// Whether retriers are asked about a failure of the value; false for the plain `response` handler.
  let consultsRetriers: Bool
  /// Whether making the value takes longer for a longer body.
  let readsBody: Bool
  /// Whether making the value reads a file, which is never done on the loop.
  var readsFile = false
  /// Makes the value. May take long; called without a lock.
  let makeValue: @Sendable (SerializationInput) -> HandlerValue
}

/// The input from which a handler's value is made.
struct SerializationInput: Sendable {
  let request: Request
  let contents: ResponseContents
  let times: RequestTimes?
  let error: WeirError?
  /// Set if the outcome is fixed: the request was cancelled, ended from outside, or refused by a retrier.
  var verdict: WeirError?
}

/// A handler's value, ready to be delivered once.
struct HandlerValue: Sendable {
  enum Use {
    /// Tell monitors about the value.
    case announce(request: Request, monitors: CompositeEventMonitor)
    /// Call the caller's handler.
    case deliver
  }

  let error: WeirError?
  /// The seconds that the serializer took.
  let duration: TimeInterval
  let use: @Sendable (Use) -> Void

  func announce(from request: Request) {
    let monitors = request.fields.withLock { $0.monitors }
    if monitors.wants(.responses) { use(.announce(request: request, monitors: monitors)) }
  }

  func deliver() { use(.deliver) }
}

extension SerializationInput {
  var hop: HopRequest? { contents.hop }
  var urlRequest: URLRequest? { hop?.urlRequest }
  var response: LazyHTTPResponse? { contents.head }
  var data: Data? { contents.data }
  var failure: WeirError? { verdict ?? error }

  /// The value that a serializer makes of this input, or the verdict if the outcome is fixed without a serializer.
  func result<Value>(_ serialize: () throws -> Value) -> Result<Value, WeirError> {
    verdict.map { .failure($0) } ?? .serialized(by: serialize)
  }

  /// The request's timeline, which ends at this time.
  func timeline(serializationCompleted: MonotonicTime) -> Timeline {
    (times ?? RequestTimes()).timeline(serializationCompleted: serializationCompleted)
  }
}

extension Result where Failure == WeirError {
  /// The value that a serializer makes, or its error as the request's error.
  static func serialized(by serialize: () throws -> Success) -> Self {
    do {
      return .success(try serialize())
    } catch {
      return .failure(.serialization(error))
    }
  }
}

// MARK: - Data requests

extension ResponseHandler {
  /// Gives the body as it is, and asks no retrier.
  init(on queue: HandlerQueue, _ completion: @escaping @Sendable (WeirDataResponse<Data?>) -> Void) {
    self.init(queue: queue, consultsRetriers: false, readsBody: false) { input in
      let now = MonotonicTime.now
      return HandlerValue(input.failure.map { .failure($0) } ?? .success(input.data), of: input, now, now, completion)
    }
  }

  /// Gives the value that a serializer makes of the response.
  init<Value: Sendable>(
    on queue: HandlerQueue, serializing serialize: @escaping LazySerialization<Value>,
    _ completion: @escaping @Sendable (WeirDataResponse<Value>) -> Void
  ) {
    self.init(queue: queue, consultsRetriers: true, readsBody: true) { input in
      let began = MonotonicTime.now
      let result = input.result { try serialize(input.hop, input.response, input.data, input.error) }
      return HandlerValue(result, of: input, began, .now, completion)
    }
  }

  /// Does the same for one of weir's own serializers, which need no built `HTTPURLResponse`.
  init<Value: Sendable>(
    on queue: HandlerQueue, using serializer: some LazyResponseSerializer<Value>,
    _ completion: @escaping @Sendable (WeirDataResponse<Value>) -> Void
  ) {
    self.init(queue: queue, consultsRetriers: true, readsBody: serializer.readsBody) { input in
      let began = MonotonicTime.now
      let result = input.result {
        try serializer.serialize(hop: input.hop, lazyResponse: input.response, data: input.data, error: input.error)
      }
      return HandlerValue(result, of: input, began, .now, completion)
    }
  }
}

extension HandlerValue {
  /// The only place where a data request's response is put together.
  fileprivate init<Value: Sendable>(
    _ result: Result<Value, WeirError>, of input: SerializationInput, _ began: MonotonicTime, _ ended: MonotonicTime,
    _ completion: @escaping @Sendable (WeirDataResponse<Value>) -> Void
  ) {
    let response = WeirDataResponse(
      contents: input.contents, serializationDuration: ended.seconds(since: began), result: result,
      timeline: input.timeline(serializationCompleted: ended))
    self.init(error: result.failure, duration: response.serializationDuration) { use in
      switch use {
      case .announce(let request, let monitors):
        guard let request = request as? DataRequest else { return }
        if let plain = response as? WeirDataResponse<Data?> {
          monitors.request(request, didParseResponse: plain)
        } else {
          monitors.request(request, didParseResponse: response)
        }
      case .deliver: completion(response)
      }
    }
  }
}

// MARK: - Downloads

extension ResponseHandler {
  /// Gives the file's URL as it is, and asks no retrier.
  init(downloadOn queue: HandlerQueue, _ completion: @escaping @Sendable (WeirDownloadResponse<URL?>) -> Void) {
    self.init(queue: queue, consultsRetriers: false, readsBody: false) { input in
      let now = MonotonicTime.now
      return HandlerValue(
        input.failure.map { .failure($0) } ?? .success(input.fileURL), of: input, now, now, completion)
    }
  }

  /// Gives the value that a serializer makes of the file.
  init<Serializer: DownloadResponseSerializerProtocol>(
    downloadOn queue: HandlerQueue, by serializer: Serializer,
    _ completion: @escaping @Sendable (WeirDownloadResponse<Serializer.SerializedObject>) -> Void
  ) {
    let readsFile = Serializer.self != URLResponseSerializer.self
    self.init(queue: queue, consultsRetriers: true, readsBody: readsFile, readsFile: readsFile) { input in
      let began = MonotonicTime.now
      let result = input.result {
        try serializer.serializeDownload(
          request: input.urlRequest, response: input.response?.response, fileURL: input.fileURL, error: input.error)
      }
      return HandlerValue(result, of: input, began, .now, completion)
    }
  }
}

extension SerializationInput {
  fileprivate var fileURL: URL? { (request as? DownloadRequest)?.fileURL }
}

extension HandlerValue {
  /// The only place where a download's response is put together.
  fileprivate init<Value: Sendable>(
    _ result: Result<Value, WeirError>, of input: SerializationInput, _ began: MonotonicTime, _ ended: MonotonicTime,
    _ completion: @escaping @Sendable (WeirDownloadResponse<Value>) -> Void
  ) {
    let response = WeirDownloadResponse(
      contents: input.contents, fileURL: input.fileURL,
      resumeData: (input.request as? DownloadRequest)?.resumeData, serializationDuration: ended.seconds(since: began),
      result: result, timeline: input.timeline(serializationCompleted: ended))
    self.init(error: result.failure, duration: response.serializationDuration) { use in
      switch use {
      case .announce(let request, let monitors):
        guard let request = request as? DownloadRequest else { return }
        if let plain = response as? WeirDownloadResponse<URL?> {
          monitors.request(request, didParseResponse: plain)
        } else {
          monitors.request(request, didParseResponse: response)
        }
      case .deliver: completion(response)
      }
    }
  }
}
