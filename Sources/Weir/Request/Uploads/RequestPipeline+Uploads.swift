import Synchronization
import WeirIO

/// Makes an upload's body, between adaptation and the task.
extension RequestPipeline {
  /// The body was made or could not be. The attempt continues unless the request has moved on meanwhile.
  func uploadableMade(
    _ result: Result<UploadBody, WeirError>, of upload: UploadRequest, for hop: HopRequest, _ step: RequestMachine.Step
  ) {
    guard decide({ $0.isWaiting(in: step) }) else { return }
    switch result {
    case .success(let body): code(body, of: upload, for: hop, step)
    case .failure(let error):
      creationFailed(error, step) { monitors.request(upload, didFailToCreateUploadableWithError: $0) }
    }
  }

  /// Asks the adapters that compress bodies about this one.
  private func code(
    _ body: UploadBody, of upload: UploadRequest, for hop: HopRequest, _ step: RequestMachine.Step
  ) {
    let adapters = core.adapters(of: request)
    guard adapters.compressUploads else {
      return coded(.success((hop: hop, coding: nil)), body, of: upload, for: hop, step)
    }
    let ask: @Sendable () -> Result<CodedHop, any Error> = {
      Result {
        var urlRequest = hop.urlRequest
        let coding = try adapters.codeUpload(&urlRequest, data: body.data)
        return (hop: coding == nil ? hop : HopRequest(urlRequest), coding: coding)
      }
    }
    guard let executor = codingExecutor(body) else { return coded(ask(), body, of: upload, for: hop, step) }
    executor { [request] in
      let result = ask()
      request.onPipeline { $0.coded(result, body, of: upload, for: hop, step) }
    }
  }

  private typealias CodedHop = (hop: HopRequest, coding: RequestCoding?)

  /// The executor on which a caller's closure is asked about a body, as a large one may take long; nil: the loop.
  private func codingExecutor(_ body: UploadBody) -> Executor? {
    guard let data = body.data else { return nil }
    return context.queues.bodies?.executor ?? (data.count > 64 << 10 ? context.readers.executor : nil)
  }

  private func coded(
    _ result: Result<CodedHop, any Error>, _ body: UploadBody, of upload: UploadRequest, for hop: HopRequest,
    _ step: RequestMachine.Step
  ) {
    guard decide({ $0.isWaiting(in: step) }) else { return }
    switch result {
    case .success((let codedHop, let coding)):
      var body = body
      if let coding {
        body.coding = coding
        if case .stream(let plain) = body.uploadable { body.coded = .stream(CodedUpload.stream(plain, coding)) }
        request.fields.withLock { $0.attempt?.adapted = codedHop }
      }
      upload.begin(with: body)
      monitors.request(upload, didCreateUploadable: body.uploadable)
      guard decide({ $0.isWaiting(in: step) }) else { return }
      bodyIsReady(for: codedHop, step)
    case .failure(let error):
      creationFailed(.requestAdaptationFailed(error: error), step) {
        monitors.request(request, didFailToAdaptURLRequest: hop.urlRequest, withError: $0)
      }
    }
  }
}
