import Foundation
import FoundationNetworking
import Weir

/// Callbacks of requests.
extension EventLog {
  func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
    note(request, "didCreateInitialURLRequest", facts(urlRequest))
  }

  func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {
    note(request, "didFailToCreateURLRequest", facts(error))
  }

  func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest) {
    note(request, "didAdaptInitialRequest", "\(facts(initialRequest)) → \(facts(adaptedRequest))")
  }

  func request(_ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError) {
    note(request, "didFailToAdaptURLRequest", "\(facts(initialRequest)) \(facts(error))")
  }

  func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
    note(request, "didCreateURLRequest", facts(urlRequest))
  }

  func request(_ request: Request, didCreateTask task: TransferTask) { note(request, "didCreateTask", facts(task)) }

  func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
    note(request, "didGatherMetrics", facts(metrics))
  }

  func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {
    note(request, "didFailTaskEarly", "\(facts(task)) \(facts(error))")
  }

  func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
    note(request, "didCompleteTask", "\(facts(task)) \(facts(error))")
  }

  func request(_ request: Request, didResumeTask task: TransferTask) { note(request, "didResumeTask", facts(task)) }
  func request(_ request: Request, didSuspendTask task: TransferTask) { note(request, "didSuspendTask", facts(task)) }
  func request(_ request: Request, didCancelTask task: TransferTask) { note(request, "didCancelTask", facts(task)) }
  func requestIsRetrying(_ request: Request) { note(request, "isRetrying", "retryCount=\(request.retryCount)") }
  func requestDidFinish(_ request: Request) { note(request, "didFinish", "\(facts(request.response))") }
  func requestDidResume(_ request: Request) { note(request, "didResume") }
  func requestDidSuspend(_ request: Request) { note(request, "didSuspend") }
  func requestDidCancel(_ request: Request) { note(request, "didCancel", facts(request.error)) }

  // MARK: Data requests

  func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {
    note(request, "didValidateData", "\(facts(response)) \(data?.count ?? -1) \(facts(result))")
  }

  func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {
    note(request, "didParseResponse", "optional \(facts(response.result))")
  }

  func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {
    note(request, "didParseResponse", "\(Value.self) \(facts(response.result))")
  }

  // MARK: Uploads

  func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
    switch uploadable {
    case .data(let data): note(request, "didCreateUploadable", "data \(data.count)")
    case .file(_, let shouldRemove): note(request, "didCreateUploadable", "file remove=\(shouldRemove)")
    case .stream: note(request, "didCreateUploadable", "stream")
    }
  }

  func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError) {
    note(request, "didFailToCreateUploadable", facts(error))
  }

  func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
    note(request, "didProvideInputStream")
  }

  // MARK: Downloads

  func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) {
    note(request, "didCreateDestinationURL", url.lastPathComponent.hasPrefix("kept") ? url.lastPathComponent : "file")
  }

  func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>
  ) {
    note(request, "didFinishDownloading", "\(facts(task)) \(facts(result))")
  }

  func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult
  ) {
    note(request, "didValidateDownload", "\(facts(response)) file=\(fileURL != nil) \(facts(result))")
  }

  func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>) {
    note(request, "didParseResponse", "optional \(facts(response.result))")
  }

  func request<Value>(_ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>) {
    note(request, "didParseResponse", "\(Value.self) \(facts(response.result))")
  }

  // MARK: Streams

  func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult
  ) {
    note(request, "didValidateStream", "\(facts(response)) \(facts(result))")
  }

  func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>) {
    note(request, "didParseStream", "\(Value.self) \(facts(result))")
  }

  // MARK: What weir adds

  func request(_ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?) {
    note(request, "didAdaptUsing", "\(name) \(facts(error))")
  }

  func request(_ request: Request, didStartAttempt number: Int) { note(request, "didStartAttempt", "\(number)") }

  func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {
    note(request, "didEndAttempt", "\(number) status=\(metrics.statusCode ?? 0) \(facts(error))")
  }

  func request(_ request: Request, didRecordAttempt record: AttemptRecord) {
    note(
      request, "didRecordAttempt",
      "\(record.number) status=\(record.metrics.statusCode ?? 0) error=\(record.errorLabel ?? "-")"
        + " reason=\(record.retryReason?.rawValue ?? "-") hedge=\(record.isHedge) redirects=\(record.redirects.count)")
  }

  func request(_ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason) {
    note(request, "willRetry", "after=\(delay) \(source.rawValue) \(reason.rawValue)")
  }

  func request(_ request: Request, didDenyRetry denial: RetryDenial) {
    note(request, "didDenyRetry", denial.reason.rawValue)
  }

  func request(_ request: Request, didReceiveInformationalResponse response: HTTPURLResponse) {
    note(request, "didReceiveInformationalResponse", "\(response.statusCode)")
  }

  func request(_ request: Request, hedge event: HedgeEvent) { note(request, "hedge", event.rawValue) }
  func request(_ request: Request, waitedForPace seconds: TimeInterval) { note(request, "waitedForPace") }
  func request(_ request: Request, wasShed reason: ShedReason) { note(request, "wasShed", reason.rawValue) }
  func request(_ request: Request, abandonedIn phase: AbandonedPhase) { note(request, "abandoned", phase.rawValue) }
  func request(_ request: Request, cache result: CacheResult) { note(request, "cache", result.rawValue) }

  func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    note(
      request, "didSettle",
      "\(outcome.rawValue) state=\(request.state) retries=\(request.retryCount) attempts=\(request.attemptCount)"
        + " tasks=\(request.tasks.count) metrics=\(request.allMetrics.count) error=\(facts(request.error))")
  }
}
