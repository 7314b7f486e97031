import WeirIO

extension ResponseHandler {
  /// Gives the file's URL as it is, and asks no retrier.
  init(
    downloadOn queue: HandlerQueue, _ completion: @escaping @Sendable (WeirDownloadResponse<URL?>) -> Void
  ) {
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
  fileprivate var resumeData: Data? { (request as? DownloadRequest)?.resumeData }
}

extension HandlerValue {
  /// The only place where a download's response is put together.
  fileprivate init<Value: Sendable>(
    _ result: Result<Value, WeirError>, of input: SerializationInput, _ began: MonotonicTime, _ ended: MonotonicTime,
    _ completion: @escaping @Sendable (WeirDownloadResponse<Value>) -> Void
  ) {
    let response = WeirDownloadResponse(
      request: input.urlRequest, lazyResponse: input.response, fileURL: input.fileURL, resumeData: input.resumeData,
      metrics: input.metrics, serializationDuration: ended.seconds(since: began), result: result,
      timeline: input.timeline(serializationCompleted: ended))
    self.init(error: result.failure, duration: response.serializationDuration) { use in
      switch use {
      case .announce(let request, let monitors): response.announce(from: request, to: monitors)
      case .deliver: completion(response)
      }
    }
  }
}

extension DownloadResponse where Failure == WeirError {
  fileprivate func announce(from request: Request, to monitors: CompositeEventMonitor) {
    guard let request = request as? DownloadRequest else { return }
    if let plain = self as? WeirDownloadResponse<URL?> {
      monitors.request(request, didParseResponse: plain)
    } else {
      monitors.request(request, didParseResponse: self)
    }
  }
}
