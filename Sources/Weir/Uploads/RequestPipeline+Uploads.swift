import Foundation
import FoundationNetworking
import Synchronization

/// An upload's body, between adaptation and the task.
extension RequestPipeline {
  /// The body was made or could not be; the attempt goes on unless the request did meanwhile.
  func uploadableMade(
    _ result: Result<UploadBody, WeirError>, of upload: UploadRequest, for hop: HopRequest, _ step: RequestMachine.Step
  ) {
    guard decide({ $0.isWaiting(in: step) }) else { return }
    switch result {
    case .success(let body): code(body, of: upload, for: hop, step)
    case .failure(let error):
      monitors.request(upload, didFailToCreateUploadableWithError: recorded(error))
      bodyFailed(step)
    }
  }

  /// Asks those of the adapters who compress bodies about this one.
  private func code(
    _ body: UploadBody, of upload: UploadRequest, for hop: HopRequest, _ step: RequestMachine.Step
  ) {
    do {
      var (body, urlRequest) = (body, hop.urlRequest)
      let data: Data? = if case .data(let data) = body.uploadable { data } else { nil }
      if let coding = try core.adapters(of: request).codeUpload(&urlRequest, data: data) {
        body.coding = coding
        if case .stream(let plain) = body.uploadable { body.coded = .stream(CodedUpload.stream(plain, coding)) }
        request.fields.withLock { $0.attempt?.adapted = urlRequest }
      }
      upload.begin(with: body)
      monitors.request(upload, didCreateUploadable: body.uploadable)
      guard decide({ $0.isWaiting(in: step) }) else { return }
      bodyIsReady(for: body.coding == nil ? hop : HopRequest(urlRequest), step)
    } catch {
      let failure = recorded(.requestAdaptationFailed(error: error))
      monitors.request(request, didFailToAdaptURLRequest: hop.urlRequest, withError: failure)
      bodyFailed(step)
    }
  }

  private func recorded(_ error: WeirError) -> WeirError {
    record(error)
    return error
  }

  private func bodyFailed(_ step: RequestMachine.Step) {
    request.describeToWaiting()
    perform(decide { $0.creationFailed(step) })
  }
}
