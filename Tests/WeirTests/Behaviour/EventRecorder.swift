import Dispatch
import Foundation
import FoundationNetworking
import Synchronization
import Weir

/// Values in the order in which they came, for tests to look at and to wait for.
final class Journal<Entry: Sendable>: Sendable {
  private struct State {
    var entries: [Entry] = []
    var waiting: [(condition: @Sendable ([Entry]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  var entries: [Entry] { state.withLock { $0.entries } }

  func append(_ entry: Entry) {
    let ready = state.withLock { state in
      state.entries.append(entry)
      let entries = state.entries
      let ready = state.waiting.filter { $0.condition(entries) }
      state.waiting.removeAll { $0.condition(entries) }
      return ready
    }
    for waiter in ready { waiter.continuation.resume() }
  }

  /// Returns when the condition holds; the suite's time limit ends a wait in vain.
  func wait(until condition: @escaping @Sendable ([Entry]) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if condition(state.entries) { return true }
        state.waiting.append((condition, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
  }
}

extension Journal where Entry: Equatable {
  func wait(for entry: Entry) async {
    await wait { $0.contains(entry) }
  }

  func count(of entry: Entry) -> Int { entries.count { $0 == entry } }
}

/// Notes the names of events as they are emitted, session-level ones with a leading dot, and what is wrong with them:
/// a request whose properties don't reflect the event yet.
final class EventRecorder: InlineEventMonitor {
  let events: Journal<String>
  let violations = Journal<String>()
  private let prefix: String
  /// Weir's additions to the events are noted as well.
  private let notesAttempts: Bool

  /// Called after each, where the event is emitted.
  private let onNote: (@Sendable (String) -> Void)?

  init(
    _ prefix: String = "", into events: Journal<String> = Journal(), notingAttempts: Bool = false,
    onNote: (@Sendable (String) -> Void)? = nil
  ) {
    self.onNote = onNote
    self.prefix = prefix
    self.events = events
    notesAttempts = notingAttempts
  }

  /// The events so far, repeated chunks of data as one.
  var names: [String] {
    events.entries.reduce(into: []) { names, name in
      if name != names.last || !name.hasSuffix("·data") && !name.hasSuffix("·write") { names.append(name) }
    }
  }

  private func note(_ name: String) {
    events.append(prefix + name)
    onNote?(name)
  }

  private func check(_ holds: Bool, _ text: String) {
    if !holds { violations.append(prefix + text) }
  }
}

extension EventRecorder {
  func urlSession(_ session: Session, didBecomeInvalidWithError error: (any Error)?) {
    note("·invalid")
  }

  func urlSession(
    _ session: Session, task: TransferTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest
  ) {
    note("·redirect")
  }

  func urlSession(_ session: Session, task: TransferTask, didFinishCollecting metrics: TransferMetrics) {
    note("·metrics")
  }

  func urlSession(_ session: Session, task: TransferTask, didCompleteWithError error: (any Error)?) {
    check(task.state == .completed, "a task that completes is not completed")
    note("·complete" + (error as? URLError).map { "(\($0.code.rawValue))" }.orEmpty)
  }

  func urlSession(_ session: Session, dataTask: TransferTask, didReceive response: URLResponse) {
    check(dataTask.response != nil, "response")
    note("·response")
  }

  func urlSession(_ session: Session, dataTask: TransferTask, didReceive data: Data) { note("·data") }
}

extension EventRecorder {
  func request(_ request: Request, didCreateInitialURLRequest urlRequest: URLRequest) {
    check(request.requests.last == urlRequest, "requests at didCreateInitialURLRequest")
    note("createInitial")
  }

  func request(_ request: Request, didFailToCreateURLRequestWithError error: WeirError) {
    check(request.error?.label == error.label, "error at didFailToCreateURLRequest")
    note("failToCreate")
  }

  func request(_ request: Request, didAdaptInitialRequest initialRequest: URLRequest, to adaptedRequest: URLRequest) {
    check(request.request == adaptedRequest, "request at didAdapt")
    note("adapt")
  }

  func request(_ request: Request, didFailToAdaptURLRequest initialRequest: URLRequest, withError error: WeirError) {
    check(request.error?.isRequestAdaptationError == true, "error at didFailToAdapt")
    note("failToAdapt")
  }

  func request(_ request: Request, didCreateURLRequest urlRequest: URLRequest) {
    check(request.request == urlRequest, "request at didCreateURLRequest")
    note("create")
  }

  func request(_ request: Request, didCreateTask task: TransferTask) {
    check(request.tasks.last == task, "tasks at didCreateTask")
    note("createTask")
  }

  func request(_ request: Request, didGatherMetrics metrics: TransferMetrics) {
    check(request.metrics == metrics, "metrics at didGatherMetrics")
    note("gatherMetrics")
  }

  func request(_ request: Request, didFailTask task: TransferTask, earlyWithError error: WeirError) {
    note("failTask")
  }

  func request(_ request: Request, didCompleteTask task: TransferTask, with error: WeirError?) {
    note("completeTask" + error.map { "(\($0.label))" }.orEmpty)
  }

  func request(_ request: Request, didResumeTask task: TransferTask) { note("resumeTask") }
  func request(_ request: Request, didSuspendTask task: TransferTask) { note("suspendTask") }

  func request(_ request: Request, didCancelTask task: TransferTask) {
    check(task.state == .canceling, "state at didCancelTask")
    note("cancelTask")
  }

  func requestIsRetrying(_ request: Request) {
    check(request.retryCount > 0 && request.data(or: nil) == nil, "retryCount or data at requestIsRetrying")
    note("isRetrying")
  }

  func requestDidFinish(_ request: Request) { note("finish") }
  func requestDidResume(_ request: Request) { note("resume") }
  func requestDidSuspend(_ request: Request) { note("suspend") }

  func requestDidCancel(_ request: Request) {
    check(request.isCancelled && request.error?.isExplicitlyCancelledError == true, "state at requestDidCancel")
    note("cancel")
  }

  func request(
    _ request: DataRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, data: Data?,
    withResult result: Request.ValidationResult
  ) {
    note("validate(\((try? result.get()) == nil ? "failure" : "success"))")
  }

  func request(_ request: DataRequest, didParseResponse response: DataResponse<Data?, WeirError>) {
    parsed(response.error)
  }

  func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, WeirError>) {
    parsed(response.error)
  }

  func request(
    _ request: DataStreamRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse,
    withResult result: Request.ValidationResult
  ) {
    note("validateStream(\((try? result.get()) == nil ? "failure" : "success"))")
  }

  func request<Value: Sendable>(_ request: DataStreamRequest, didParseStream result: Result<Value, WeirError>) {
    var error: WeirError?
    if case .failure(let failure) = result { error = failure }
    note("parseStream" + error.map { "(\($0.label))" }.orEmpty)
  }

  private func parsed(_ error: WeirError?) {
    note("parse" + error.map { "(\($0.label))" }.orEmpty)
  }
}

extension EventRecorder {
  func urlSession(
    _ session: Session, downloadTask: TransferTask, didResumeAtOffset fileOffset: Int64, expectedTotalBytes: Int64
  ) {
    note("·resumeAt(\(fileOffset), \(expectedTotalBytes))")
  }

  func urlSession(
    _ session: Session, downloadTask: TransferTask, didWriteData bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite: Int64
  ) {
    check(bytesWritten > 0 && bytesWritten <= totalBytesWritten, "bytes at didWriteData")
    note("·write")
  }

  func urlSession(_ session: Session, downloadTask: TransferTask, didFinishDownloadingTo location: URL) {
    check(FileManager.default.fileExists(atPath: location.path), "file at didFinishDownloadingTo")
    note("·downloaded")
  }

  func request(_ request: DownloadRequest, didCreateDestinationURL url: URL) { note("destination") }

  func request(
    _ request: DownloadRequest, didFinishDownloadingUsing task: TransferTask, with result: Result<URL, WeirError>
  ) {
    switch result {
    case .success(let url):
      check(
        request.fileURL == url && FileManager.default.fileExists(atPath: url.path), "fileURL at didFinishDownloading")
      note("moved")
    case .failure(let error):
      check(request.fileURL == nil && request.error?.label == error.label, "error at didFinishDownloading")
      note("moved(\(error.label))")
    }
  }

  func request(
    _ request: DownloadRequest, didValidateRequest urlRequest: URLRequest?, response: HTTPURLResponse, fileURL: URL?,
    withResult result: Request.ValidationResult
  ) {
    note("validate(\((try? result.get()) == nil ? "failure" : "success"))")
  }

  func request(_ request: DownloadRequest, didParseResponse response: DownloadResponse<URL?, WeirError>) {
    parsed(response.error)
  }

  func request<Value>(_ request: DownloadRequest, didParseResponse response: DownloadResponse<Value, WeirError>) {
    parsed(response.error)
  }
}

extension EventRecorder {
  func request(
    _ request: Request, didAdaptUsing name: String, duration: TimeInterval, failed error: (any Error)?
  ) {
    check(duration >= 0, "negative duration of \(name)")
    if notesAttempts { note("adaptUsing(\(name))") }
  }

  func request(_ request: Request, didReceiveInformationalResponse response: HTTPURLResponse) {
    if notesAttempts { note("informational(\(response.statusCode))") }
  }

  func request(_ request: Request, didStartAttempt number: Int) {
    if notesAttempts { note("startAttempt(\(number))") }
  }

  func request(_ request: Request, didEndAttempt number: Int, metrics: TransferMetrics, error: WeirError?) {
    if notesAttempts { note("endAttempt(\(number)" + error.map { ", \($0.label)" }.orEmpty + ")") }
  }

  func request(_ request: Request, didRecordAttempt record: AttemptRecord) {
    check(request.allMetrics.contains(record.metrics), "metrics at didRecordAttempt")
  }

  func request(
    _ request: Request, willRetryAfter delay: TimeInterval, source: RetryDelaySource, reason: RetryReason
  ) {
    if notesAttempts { note("willRetry(\(source.rawValue), \(reason.rawValue))") }
  }

  func request(_ request: Request, didDenyRetry denial: RetryDenial) {
    if notesAttempts { note("deny(\(denial.reason.rawValue))") }
  }

  func requestDidSettle(_ request: Request, outcome: RequestOutcome) {
    check(request.outcome == outcome, "outcome at requestDidSettle")
    check(request.isFinished || request.isCancelled, "state at requestDidSettle")
    if notesAttempts { note("settle(\(outcome.rawValue))") }
  }
}

extension Request {
  fileprivate func data(or other: Data?) -> Data? { (self as? DataRequest)?.data ?? other }
}

// MARK: Uploads
extension EventRecorder {
  func urlSession(_ session: Session, taskNeedsNewBodyStream task: TransferTask) { note("·needsStream") }

  func request(_ request: UploadRequest, didCreateUploadable uploadable: UploadRequest.Uploadable) {
    check(request.uploadable != nil, "uploadable at didCreateUploadable")
    note("createUploadable")
  }

  func request(_ request: UploadRequest, didFailToCreateUploadableWithError error: WeirError) {
    check(request.error?.label == error.label && request.uploadable == nil, "error at didFailToCreateUploadable")
    note("failUploadable")
  }

  func request(_ request: UploadRequest, didProvideInputStream stream: InputStream) {
    check(stream.streamStatus == .notOpen, "stream at didProvideInputStream")
    note("provideStream")
  }
}

extension String? {
  fileprivate var orEmpty: String { self ?? "" }
}
